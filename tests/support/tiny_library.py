"""Delays of the invented cell library tiny.lib, in closed form."""

from pathlib import Path

from t3.silicon.cells import Library
from t3.silicon.library import load_library

TINY = Path(__file__).parent / "tiny.lib"
INV_PF, NAND2_PF, DFF_PF = 0.01, 0.02, 0.015
FO4_SLEW_NS = ((0.02 + 4 * 4 * INV_PF) + (0.02 + 2 * 4 * INV_PF)) / 2
FO4_NS = (
    (0.03 + 0.1 * (0.02 + 2 * 4 * INV_PF) + 2 * 4 * INV_PF)
    + (0.01 + 0.1 * (0.02 + 4 * 4 * INV_PF) + 1 * 4 * INV_PF)
) / 2
OUTSIDE_PF = 4 * INV_PF
"""Load of outputs and of memories' pins."""


def tiny() -> Library:
    return load_library([TINY])


def inv(slew_ns: float, load_pf: float, rises: bool) -> tuple[float, float]:
    """Return delay and slew of an inverter for an edge of its output."""
    resistance, intrinsic = (2.0, 0.03) if rises else (1.0, 0.01)
    return intrinsic + 0.1 * slew_ns + resistance * load_pf, 0.02 + 2 * resistance * load_pf


def nand2(slew_ns: float, load_pf: float) -> tuple[float, float]:
    return 0.04 + 0.1 * slew_ns + 2 * load_pf, 0.02 + 4 * load_pf


def dff(load_pf: float) -> tuple[float, float]:
    """Return delay from clock to output, and slew."""
    return 0.2 + 2 * load_pf, 0.02 + 4 * load_pf


def setup(slew_ns: float, rises: bool) -> float:
    return (0.05 if rises else 0.07) + 0.2 * slew_ns
