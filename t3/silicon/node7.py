"""Equivalent area in a 7 nm-class process, by a stated scaling.

Standard cells: gate equivalents times the area of a NAND2 of ASAP7, the open predictive 7 nm kit
(Clark et al., Microelectronics Journal 53, 2016). The figure excludes the space that placement
leaves free. SRAM: a foundry's bit cell, enlarged for the second port and for the periphery of a
small array.
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
        Area of the six-transistor cell.
    ports_factor : float
        Area of a cell with a read and a write port (eight transistors), relative to it.
    array_share : float
        Share of the array in the macro's area; decoders, drivers and sense amplifiers have the
        rest.
    """

    cell_um2: float
    ports_factor: float
    array_share: float

    @property
    def single_port_um2_per_bit(self) -> float:
        return self.cell_um2 / self.array_share

    @property
    def um2_per_bit(self) -> float:
        """Area of a bit with a read and a write port."""
        return self.single_port_um2_per_bit * self.ports_factor


_CELL_UM2 = 0.027  # Chang et al., "A 7nm 256Mb SRAM in high-k metal-gate FinFET", ISSCC 2017, 12.1

# The area of the cell is published. Factor and share are assumptions for macros of some kbit. The
# range extends from single-port cells everywhere to macros that consist mostly of periphery.
SRAM = SramScaling(_CELL_UM2, 2.0, 0.5)
_SMALL = SramScaling(_CELL_UM2, 1.0, 0.5)
_LARGE = SramScaling(_CELL_UM2, 2.0, 0.35)

SRAM_RANGE = _SMALL, _LARGE


def cells_mm2(area: Area) -> float:
    """Equivalent area of the cells in mm², without SRAM."""
    return area.ge * GATE_UM2 * 1e-6


def mm2(area: Area, sram: SramScaling = SRAM) -> float:
    """Equivalent area in mm², with SRAM."""
    single = area.single_port_bits
    um2 = single * sram.single_port_um2_per_bit + (area.bits - single) * sram.um2_per_bit
    return cells_mm2(area) + um2 * 1e-6
