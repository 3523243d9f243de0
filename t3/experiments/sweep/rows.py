"""Tidy table of a sweep: a row for each point and configuration."""

from typing import TYPE_CHECKING, Any

from sysmodel.runs.columns import columns_of

from .grid import Grid
from .point import Point

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rows", "columns", "complete", "table"]

Rows = dict[str, dict[str, float | None]]
"""Values of the measured columns, by configuration and key."""


def columns(grid: Grid) -> list[str]:
    """Names of the table's columns, in order."""
    coordinates = grid.points[0].coordinates(grid.system_keys)
    measured = columns_of(dict.fromkeys(point.options.program for point in grid.points))
    return [*coordinates, "configuration", *measured]


def table(grid: Grid, results: dict[str, Rows]) -> "pd.DataFrame":
    """Table in the order of the grid, without points that have no results.

    Parameters
    ----------
    results : dict
        Results by the identity of the point.
    """
    import pandas as pd

    rows = [row for point in grid.points for row in _rows(grid, point, results)]
    made: pd.DataFrame = pd.DataFrame(rows, columns=columns(grid))
    if made["channels"].dtype == object:  # Parquet cannot hold numbers beside "auto"
        made["channels"] = made["channels"].astype(str)
    return made


def complete(point: Point, results: dict[str, Rows]) -> bool:
    """Return whether all configurations of a point have results."""
    return set(point.options.configurations) <= set(results.get(point.identity, ()))


def _rows(grid: Grid, point: Point, results: dict[str, Rows]) -> list[dict[str, Any]]:
    if not complete(point, results):
        return []
    coordinates = point.coordinates(grid.system_keys)
    return [
        {**coordinates, "configuration": name, **results[point.identity][name]}
        for name in point.options.configurations
    ]
