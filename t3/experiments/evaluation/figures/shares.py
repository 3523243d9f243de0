"""Parts of sequential and of T3-MCA side by side, as shares of sequential."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from t3.experiments.evaluation.study import BASE, REPRODUCED, Case, Study
from t3.report.style import clean, drawn, legend_below, save

from .places import sublayer_places

__all__ = ["draw_shares"]


def draw_shares(
    study: Study,
    path: Path,
    parts_of: Callable[[Case], Mapping[str, pd.DataFrame]],
    colours: Iterable[str],
    *,
    shows_change: bool = True,
) -> None:
    """Draw two stacked bars for each sublayer, in a panel for each dispatch.

    Parameters
    ----------
    path : Path
        SVG file.
    parts_of : callable
        Parts of a case by label, from the lowest to the highest, in percent of sequential.
    colours : iterable of str
        Colours of the parts.
    shows_change : bool
        Write the change of the whole above the second bar.
    """
    colours = [*colours]
    right = "right bar; change in %" if shows_change else "right bar"
    with drawn(10, 6.4, rows=len(study.main_cases), sharex=True, sharey=True) as (figure, grid):
        for axes, case in zip(grid[:, 0], study.main_cases, strict=True):
            parts = parts_of(case)
            places = sublayer_places(next(iter(parts.values())))
            for side, configuration in ((-0.21, BASE), (0.21, REPRODUCED)):
                at = np.array(places.at) + side
                bottom = np.zeros(len(at))
                for (name, shares), colour in zip(parts.items(), colours, strict=True):
                    heights = shares[configuration].to_numpy()
                    label = name if configuration == BASE else None
                    axes.bar(at, heights, 0.38, bottom=bottom, color=colour, label=label)
                    bottom += heights
                if shows_change and configuration == REPRODUCED:
                    for x, top in zip(at, bottom, strict=True):
                        axes.text(x, top + 1, f"{top - 100:+.0f}", ha="center", fontsize=9)
            axes.set_ylabel("share of sequential (%)")
            axes.set_title(f"{case.label}: {BASE} (left bar) and {REPRODUCED} ({right})")
            clean(axes)
        places.label(grid[-1, 0])
        legend_below(figure, grid[0, 0], columns=len(colours))
        save(figure, path)
