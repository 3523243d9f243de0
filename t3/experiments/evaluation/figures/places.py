"""Places of the sublayers on the axis of a figure."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

__all__ = ["Places", "sublayer_places"]

_UPRIGHT = 24  # largest number of labels that fit side by side


class Places:
    """Positions of sublayers on an axis: groups of one model and degree, with gaps between them.

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
