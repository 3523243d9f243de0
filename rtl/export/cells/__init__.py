"""Cells: modules to be replaced by cells of the target library."""

from pathlib import Path

__all__ = ["CELLS", "CLOCK_GATE", "SRAM_1R1W", "SRAM_1RW", "cell_text"]

CLOCK_GATE = "t3_clock_gate"
SRAM_1R1W, SRAM_1RW = "t3_sram_1r1w", "t3_sram_1rw"
CELLS = (CLOCK_GATE, SRAM_1R1W, SRAM_1RW)
"""Names of the cells; the file of each contains its model."""


def cell_text(module: str) -> str:
    """Read the Verilog model of a cell.

    Parameters
    ----------
    module : str
        Name of the cell.
    """
    return Path(__file__).with_name(f"{module}.v").read_text(encoding="utf-8")
