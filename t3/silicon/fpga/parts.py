"""Parts of the Lattice ECP5 family, smallest first."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sysmodel.lib.errors import InputError

__all__ = ["PACKAGE", "PARTS", "SPEED_GRADE", "Part", "smallest_part"]

PACKAGE = "CABGA381"
SPEED_GRADE = 6  # the slowest
_FILLED = 0.7  # above this share placement and routing may not end
# Combinational cells of a slice that one cell of the netlist occupies.
_COMBINATIONAL = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}


@dataclass(frozen=True)
class Part:
    """Part, with its numbers of cells and of block RAMs of 18 kbit."""

    name: str
    option: str
    cells: int
    block_rams: int


PARTS = (
    Part("LFE5U-25F", "--25k", 24288, 56),
    Part("LFE5U-45F", "--45k", 43848, 108),
    Part("LFE5U-85F", "--85k", 83640, 208),
)


def smallest_part(cells: Iterable[str]) -> Part:
    """Find the smallest part for cells of these types.

    Raises
    ------
    InputError
        Every part is too small.
    """
    counts = Counter(cells)
    combinational = sum(size * counts[kind] for kind, size in _COMBINATIONAL.items())
    needed = max(combinational, counts["TRELLIS_FF"])
    for part in PARTS:
        if needed <= _FILLED * part.cells and counts["DP16KD"] <= part.block_rams:
            return part
    largest = PARTS[-1]
    problem = (
        f"{needed} cells and {counts['DP16KD']} block RAMs are more than {largest.name} takes, "
        f"{_FILLED:.0%} of {largest.cells} and {largest.block_rams}"
    )
    raise InputError("part", problem)
