"""Command ``t3 compare``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from t3.library.comparison import compare as compared

if TYPE_CHECKING:
    from sysmodel.runs.differences import Change

__all__ = ["compare"]

_LEAST_SHARE = 0.01
"""Smallest relative difference of a measured value that the table lists."""

_UNITS = {"ns": ("µs", 1e-3), "J": ("mJ", 1e3), "W": ("mW", 1e3)}
"""Unit in the table and its factor, by unit of a column."""

_LARGEST = 1e12
"""Largest value that the table shows digit by digit."""

_Result = Annotated[
    Path, typer.Argument(metavar="RESULT", help="A folder or result.json of t3 run.")
]


def compare(one: _Result, other: _Result) -> None:
    """Compare two results of t3 run.

    Lists the differences of workload, system and options, and the measured values that differ by
    one percent or more.
    """
    result = compared(one, other)
    from t3.report.terminal import terminal, terminal_table

    console = terminal()
    asked = terminal_table("Different inputs", "what", "first", "second", text_columns=3)
    for difference in result.differences:
        asked.add_row(difference.key, _shown(difference.first), _shown(difference.second))
    console.print(asked if asked.row_count else "Workload, system and options are equal.")
    measured = terminal_table(
        "Results that differ by 1 % or more", "configuration", "what", "first", "second", "%",
        text_columns=2,
    )  # fmt: skip
    for change in result.changes:
        if change.share is None or abs(change.share) >= _LEAST_SHARE:
            measured.add_row(change.configuration, *_cells(change))
    if result.changes:
        console.print(
            measured if measured.row_count else "No measured value differs by 1 % or more."
        )
    for note in result.notes:
        console.print(note, soft_wrap=True)


def _cells(change: "Change") -> tuple[str, ...]:
    share = "-" if change.share is None else f"{_number(100 * change.share, '+', 1)}"
    column = change.column
    unit, scale = _UNITS.get(column.unit, ("", 1.0))
    title = f"{column.title}, {unit}" if unit else column.title
    values = (
        _number(value * scale, ",", 1 if unit else 3) for value in (change.first, change.second)
    )
    return title, *values, share


def _number(value: float, flags: str, digits: int) -> str:
    """Show a number of any size in a few characters."""
    sign = flags.replace(",", "")
    return f"{value:{sign}.3e}" if abs(value) >= _LARGEST else f"{value:{flags}.{digits}f}"


def _shown(value: Any) -> str:
    return "-" if value is None else str(value)
