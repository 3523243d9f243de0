"""What an area would be in a 7 nm-class process, by a stated scaling.

Standard cells: gate equivalents times the area of a NAND2 of ASAP7, the open predictive 7 nm kit
(Clark et al., Microelectronics Journal 53, 2016). Cells only: nothing is added for the
space that placement leaves free. SRAM: a foundry's bit cell, enlarged for the second port and for
what surrounds a small array.
"""

from dataclasses import dataclass

from .area import Area

__all__ = ["GATE_UM2", "SRAM", "SRAM_RANGE", "SRAM_UM2_PER_BIT", "SramScaling", "mm2"]

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
    def um2_per_bit(self) -> float:
        return self.cell_um2 * self.ports_factor / self.array_share


_CELL_UM2 = 0.027  # Chang et al., "A 7nm 256Mb SRAM in high-k metal-gate FinFET", ISSCC 2017, 12.1

# The cell is published. The factor and the share are our assumptions for macros of some kbit; the
# range is from single-port cells to macros that are mostly periphery.
SRAM = SramScaling(_CELL_UM2, 2.0, 0.5)
_SMALL = SramScaling(_CELL_UM2, 1.0, 0.5)
_LARGE = SramScaling(_CELL_UM2, 2.0, 0.35)

SRAM_UM2_PER_BIT = SRAM.um2_per_bit
SRAM_RANGE = _SMALL.um2_per_bit, _LARGE.um2_per_bit


def mm2(area: Area, um2_per_bit: float = SRAM_UM2_PER_BIT) -> float:
    """Equivalent area in mm²."""
    return (area.ge * GATE_UM2 + area.bits * um2_per_bit) * 1e-6
