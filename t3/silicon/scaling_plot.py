"""Plot of the area's growth."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from .scaling import Point

__all__ = ["draw_scaling"]

_CELLS, _SRAM = "#30507a", "#d9722e"


def draw_scaling(points: Sequence[Point], path: Path) -> None:
    """Draw a PNG file with a column for each axis: gates above, SRAM below."""
    names = list(dict.fromkeys(point.axis.name for point in points))
    figure = Figure(figsize=(3.1 * len(names), 5.2), dpi=150, layout="constrained")
    grid = figure.subplots(2, len(names), sharex="col", squeeze=False)
    for column, name in enumerate(names):
        mine = [point for point in points if point.axis.name == name]
        values = [point.value for point in mine]
        upper, lower = grid[0][column], grid[1][column]
        upper.plot(values, [p.area.ge / 1e3 for p in mine], "o-", color=_CELLS)
        lower.plot(values, [p.area.bits / 1e3 for p in mine], "s-", color=_SRAM)
        upper.set_title(mine[0].axis.of, fontsize=10)
        lower.set_xlabel(name)
        lower.set_xscale("log", base=2)
        lower.set_xticks(values, [str(value) for value in values], minor=False)
        for axes in (upper, lower):
            axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
            axes.grid(color="#dddddd")
            axes.spines[["top", "right"]].set_visible(False)
    grid[0][0].set_ylabel("cells (kGE)")
    grid[1][0].set_ylabel("SRAM (kbit)")
    figure.savefig(path)
