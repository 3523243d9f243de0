"""``t3 compare``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sysmodel.lib.terminal import terminal, terminal_table
from sysmodel.runs.differences import Change, asked_differently, changes, read_result

__all__ = ["compare"]

_MATTERS = 0.01  # of a measured value
_Result = Annotated[
    Path, typer.Argument(metavar="RESULT", help="A folder or result.json of t3 run.")
]


def compare(one: _Result, other: _Result) -> None:
    """Put two results of t3 run side by side.

    Lists where workload, system and options differ, and what was measured that differs by one
    percent or more.
    """
    first, second = read_result(one), read_result(other)
    console = terminal()
    asked = terminal_table("Asked differently", "what", "first", "second", text_columns=3)
    for difference in asked_differently(first, second):
        asked.add_row(difference.key, _shown(difference.first), _shown(difference.second))
    console.print(asked if asked.row_count else "Asked alike.", markup=False)
    both = changes(first, second)
    measured = terminal_table(
        "Measured differently, by 1 % or more", "configuration", "what", "first", "second", "%",
        text_columns=2,
    )  # fmt: skip
    for change in both:
        if change.share is None or abs(change.share) >= _MATTERS:
            measured.add_row(change.configuration, *_cells(change))
    console.print(measured if measured.row_count else "Nothing measured differs by 1 %.")
    missing = first["configurations"].keys() ^ second["configurations"].keys()
    if missing:
        console.print(f"In one of them only: {', '.join(sorted(missing))}.", markup=False)


def _cells(change: Change) -> tuple[str, ...]:
    share = "-" if change.share is None else f"{change.share:+.1%}".removesuffix("%")
    if change.key.endswith("_ns"):
        what, scale = f"{change.key.removesuffix('_ns').replace('_', ' ')}, µs", 1e-3
    elif change.key.endswith("_j"):
        what, scale = "energy, mJ", 1e3
    elif change.key.endswith("_w"):
        what, scale = "T3's power, mW", 1e3
    else:
        what, scale = change.key.replace("_", " "), 1.0
    digits = 3 if scale == 1 else 1
    return what, *(f"{value * scale:,.{digits}f}" for value in (change.first, change.second)), share


def _shown(value: Any) -> str:
    return "-" if value is None else str(value)
