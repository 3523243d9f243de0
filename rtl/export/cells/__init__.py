"""Modules that whoever builds the hardware in may put cells of a library in place of."""

from pathlib import Path

__all__ = ["CELLS", "CLOCK_GATE", "SRAM_1R1W", "SRAM_1RW", "cell_text"]

CLOCK_GATE = "t3_clock_gate"
SRAM_1R1W, SRAM_1RW = "t3_sram_1r1w", "t3_sram_1rw"
CELLS = (CLOCK_GATE, SRAM_1R1W, SRAM_1RW)
"""Their names; the file of each has its model."""


def cell_text(module: str) -> str:
    """Verilog of the model of a cell.

    Parameters
    ----------
    module : str
        Its name.
    """
    return Path(__file__).with_name(f"{module}.v").read_text(encoding="utf-8")
