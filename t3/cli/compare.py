"""``t3 compare``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sysmodel.runs.differences import Change, asked_differently, changes, read_result
from t3.report.terminal import terminal, terminal_table

__all__ = ["compare"]

_LEAST_SHARE = 0.01
"""Smallest relative difference of a measured value that the table lists."""

_UNITS = {"ns": ("µs", 1e-3), "J": ("mJ", 1e3), "W": ("mW", 1e3)}
"""Unit in the table and its factor, by unit of a column."""

_Result = Annotated[
    Path, typer.Argument(metavar="RESULT", help="A folder or result.json of t3 run.")
]


def compare(one: _Result, other: _Result) -> None:
    """Compare two results of t3 run.

    Lists the differences of workload, system and options, and the measured values that differ by
    one percent or more.
    """
    first, second = read_result(one), read_result(other)
    console = terminal()
    asked = terminal_table("Different inputs", "what", "first", "second", text_columns=3)
    for difference in asked_differently(first, second):
        asked.add_row(difference.key, _shown(difference.first), _shown(difference.second))
    console.print(
        asked if asked.row_count else "Workload, system and options are equal.", markup=False
    )
    both = changes(first, second)
    measured = terminal_table(
        "Results that differ by 1 % or more", "configuration", "what", "first", "second", "%",
        text_columns=2,
    )  # fmt: skip
    for change in both:
        if change.share is None or abs(change.share) >= _LEAST_SHARE:
            measured.add_row(change.configuration, *_cells(change))
    console.print(measured if measured.row_count else "No measured value differs by 1 % or more.")
    missing = first["configurations"].keys() ^ second["configurations"].keys()
    if missing:
        console.print(f"In only one of the results: {', '.join(sorted(missing))}.", markup=False)


def _cells(change: Change) -> tuple[str, ...]:
    share = "-" if change.share is None else f"{change.share:+.1%}".removesuffix("%")
    column = change.column
    unit, scale = _UNITS.get(column.unit, ("", 1.0))
    title = f"{column.title}, {unit}" if unit else column.title
    digits = 1 if unit else 3
    values = (f"{value * scale:,.{digits}f}" for value in (change.first, change.second))
    return title, *values, share


def _shown(value: Any) -> str:
    return "-" if value is None else str(value)
