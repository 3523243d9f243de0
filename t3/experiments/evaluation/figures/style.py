"""What the figures have in common: colours, lettering, axes of sublayers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

__all__ = [
    "COLOURS",
    "Grid",
    "Places",
    "bars",
    "clean",
    "drawn",
    "legend_below",
    "save",
    "sublayer_places",
]

Grid: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""Rows and columns of axes."""

# Those of sysmodel/runs/plots.py where the thing is the same. They differ in lightness too, for
# print and for eyes that do not tell hues apart.
COLOURS = {
    "sequential": "#8c8c8c",
    "t3": "#7d9cc7",
    "t3-mca": "#30507a",
    "t3-mca-paper": "#30507a",
    "t3-compute-first": "#30507a",
    "t3-critical": "#3f8f5f",
    "ideal-overlap": "#d9722e",
    "ideal-rs-nmc": "#f2c879",
    "cu-split-8": "#cdb5d6",
    "cu-split-16": "#7b5a8c",
}
_UPRIGHT = 24  # more labels than that do not fit side by side
_LETTERING: "dict[RcKeyType, Any]" = {
    "svg.hashsalt": "t3",  # equal results give equal files
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "hatch.linewidth": 0.6,
}


@contextmanager
def drawn(
    width: float,
    height: float,
    rows: int = 1,
    columns: int = 1,
    *,
    sharex: bool = False,
    sharey: bool = False,
) -> Iterator[tuple[Figure, Grid]]:
    """A figure in inches and its array of axes, in the style of the report."""
    with matplotlib.rc_context(_LETTERING):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)


def save(figure: Figure, path: Path) -> None:
    """Write an SVG file without a date."""
    figure.savefig(path, format="svg", metadata={"Date": None})


def clean(axes: Axes, grid: Literal["x", "y"] = "y") -> None:
    """Only a light grid and the axis that carries the labels."""
    axes.grid(axis=grid, color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right", "left" if grid == "y" else "bottom"]].set_visible(False)
    axes.tick_params(length=0)


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """One legend for all axes, under them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


class Places:
    """Where sublayers stand on an axis: groups of one model and degree, with a gap between.

    Parameters
    ----------
    index : Index
        model, tp, layer of each sublayer, neighbours of one group together.
    extra : sequence of str
        Labels of further places after the sublayers, such as a mean.
    """

    def __init__(self, index: "pd.Index[Any]", extra: Sequence[str] = ()):
        self.at: list[float] = []
        self.labels: list[str] = []
        self.groups: list[tuple[str, float]] = []
        place = 0.0
        for (model, tp), members in groupby(index, key=lambda point: point[:2]):
            layers = [point[2].upper() for point in members]
            self.groups.append((f"{model}\nTP {tp}", place + (len(layers) - 1) / 2))
            self.at += [place + i for i in range(len(layers))]
            self.labels += layers
            place += len(layers) + 0.7
        self.after = [place + i for i in range(len(extra))]
        self.labels += extra

    def label(self, axes: Axes) -> None:
        """Write layers as ticks and their groups below them."""
        crowded = len(self.labels) > _UPRIGHT
        axes.set_xticks([*self.at, *self.after], self.labels, fontsize=9, rotation=90 * crowded)
        for text, at in self.groups:
            axes.annotate(
                text,
                (at, 0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -30 if crowded else -20),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=9,
            )
        axes.set_xlim(self.at[0] - 0.8, max([*self.at, *self.after]) + 0.8)


def sublayer_places(wide: pd.DataFrame, extra: Sequence[str] = ()) -> Places:
    """Places of the sublayers of a table of ``Study.points``."""
    return Places(wide.index, extra)


def bars(
    axes: Axes, at: Sequence[float], series: Mapping[str, Sequence[float]], base: float
) -> None:
    """Bars side by side, a colour for each configuration, standing on ``base``."""
    width = 0.86 / len(series)
    for i, (name, values) in enumerate(series.items()):
        left = [x - 0.43 + (i + 0.5) * width for x in at]
        heights = [value - base for value in values]
        axes.bar(left, heights, width, bottom=base, color=COLOURS[name], label=name)
