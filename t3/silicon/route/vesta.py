"""Parsing of the files that qflow's tools write."""

import re

__all__ = ["cells_placed", "die_um2", "period_ns", "unrouted"]

_PERIOD = re.compile(r"^Path \S+/CLK to \S+ delay ([\d.]+) ps", re.MULTILINE)
_DIE = re.compile(r"DIEAREA \( (-?\d+) (-?\d+) \) \( (-?\d+) (-?\d+) \)")
_UNITS = re.compile(r"UNITS DISTANCE MICRONS (\d+)")
_COMPONENT = re.compile(r"^- \S+ (\S+) \+ PLACED", re.MULTILINE)
_FILLER = "FILL"


def period_ns(log: str) -> float:
    """Longest path from flip-flop to flip-flop in the log of vesta, setup included.

    Raises
    ------
    ValueError
        The log has no such path.
    """
    delays = [float(delay) for delay in _PERIOD.findall(log)]
    if not delays:
        raise ValueError("the log has no path from flip-flop to flip-flop")
    return max(delays) / 1e3


def die_um2(layout: str) -> float:
    """Area of the die of a DEF file."""
    units, die = _UNITS.search(layout), _DIE.search(layout)
    if units is None or die is None:
        raise ValueError("the DEF file has no area of the die")
    left, bottom, right, top = (int(edge) / int(units[1]) for edge in die.groups())
    return (right - left) * (top - bottom)


def cells_placed(layout: str) -> int:
    """Number of cells in a DEF file, without fillers."""
    return sum(kind != _FILLER for kind in _COMPONENT.findall(layout))


def unrouted(log: str) -> bool:
    """Test whether qrouter's log lacks its message that every net is routed."""
    return "Final: No failed routes!" not in log
