"""Modules that whoever builds the hardware in may put cells of a library in place of."""

from pathlib import Path

__all__ = ["CELLS", "CLOCK_GATE", "cell_text"]

CLOCK_GATE = "t3_clock_gate"
CELLS = (CLOCK_GATE,)
"""Their names; the file of each has its model."""


def cell_text(module: str) -> str:
    """Verilog of the model of a cell.

    Parameters
    ----------
    module : str
        Its name.
    """
    return Path(__file__).with_name(f"{module}.v").read_text(encoding="utf-8")
