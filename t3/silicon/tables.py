"""Two-dimensional tables of a cell library."""

from bisect import bisect_right
from dataclasses import dataclass

__all__ = ["Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """Function of two variables, given on a grid.

    Parameters
    ----------
    rows, columns : tuple of float
        Increasing values of the two variables. An axis of one value is constant.
    values : tuple of tuple of float
        Values, one tuple for each row.
    """

    rows: tuple[float, ...]
    columns: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]

    def at(self, row: float, column: float) -> float:
        """Interpolate between the four nearest points, linearly in each variable, as NLDM requires.

        Beyond the edge of the grid the same planes extrapolate.
        """
        rows, columns, values = self.rows, self.columns, self.values
        if len(columns) == 1:
            k, v = 0, 0.0
        else:
            k = min(max(bisect_right(columns, column) - 1, 0), len(columns) - 2)
            low = columns[k]
            v = (column - low) / (columns[k + 1] - low)
        first = values[0]
        if len(rows) == 1:
            return first[k] + v * (first[k + 1] - first[k]) if v else first[k]
        i = min(max(bisect_right(rows, row) - 1, 0), len(rows) - 2)
        low = rows[i]
        u = (row - low) / (rows[i + 1] - low)
        first, second = values[i], values[i + 1]
        if not v:
            return first[k] + u * (second[k] - first[k])
        here = first[k] + v * (first[k + 1] - first[k])
        return here + u * (second[k] + v * (second[k + 1] - second[k]) - here)
