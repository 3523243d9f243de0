"""What an area would be in a 7 nm-class process, by a stated scaling.

Standard cells: gate equivalents times the area of a NAND2 of ASAP7, the open predictive 7 nm kit
(Clark et al., Microelectronics Journal 53, 2016). Cells only: nothing is added for the
space that placement leaves free. SRAM: a foundry's bit cell, enlarged for the second port and for
what surrounds a small array.
"""

from dataclasses import dataclass

from .area import Area

__all__ = ["GATE_UM2", "SRAM", "SRAM_RANGE", "SramScaling", "cells_mm2", "mm2"]

GATE_UM2 = 0.05832
"""NAND2xp33_ASAP7_75t_R, the smallest NAND2 of ASAP7's 7.5-track library."""


@dataclass(frozen=True)
class SramScaling:
    """Area of an SRAM bit.

    Parameters
    ----------
    cell_um2 : float
        Of the six-transistor cell.
    ports_factor : float
        Of a cell with a read and a write port (eight transistors) against it.
    array_share : float
        Of the array in the macro's area; the rest decodes, drives and senses.
    """

    cell_um2: float
    ports_factor: float
    array_share: float

    @property
    def single_port_um2_per_bit(self) -> float:
        return self.cell_um2 / self.array_share

    @property
    def um2_per_bit(self) -> float:
        """With a read and a write port."""
        return self.single_port_um2_per_bit * self.ports_factor


_CELL_UM2 = 0.027  # Chang et al., "A 7nm 256Mb SRAM in high-k metal-gate FinFET", ISSCC 2017, 12.1

# The cell is published. The factor and the share are our assumptions for macros of some kbit; the
# range is from single-port cells everywhere to macros that are mostly periphery.
SRAM = SramScaling(_CELL_UM2, 2.0, 0.5)
_SMALL = SramScaling(_CELL_UM2, 1.0, 0.5)
_LARGE = SramScaling(_CELL_UM2, 2.0, 0.35)

SRAM_RANGE = _SMALL, _LARGE


def cells_mm2(area: Area) -> float:
    """Equivalent area in mm² of all but the SRAM."""
    return area.ge * GATE_UM2 * 1e-6


def mm2(area: Area, sram: SramScaling = SRAM) -> float:
    """Equivalent area in mm²."""
    single = area.single_port_bits
    um2 = single * sram.single_port_um2_per_bit + (area.bits - single) * sram.um2_per_bit
    return cells_mm2(area) + um2 * 1e-6
