"""End-to-end results of whole models."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from t3.experiments.evaluation.study import BASE, REPRODUCED, Study
from t3.report.style import bars, clean, drawn, legend_below, save

__all__ = ["draw_communication", "draw_models"]

_PHASES = ("training", "prompt")
_SHOWN = ("t3", REPRODUCED, "t3-critical", "ideal-overlap")
_SHADES = {"as is": "#30507a", "doubled": "#d9722e"}


def draw_models(study: Study, path: Path) -> None:
    """End-to-end speedups, a row of panels for each way of dispatch."""
    with drawn(
        10, 5.6, rows=len(study.main_cases), columns=len(_PHASES), sharex=True, sharey=True
    ) as (
        figure,
        grid,
    ):
        for row, case in zip(grid, study.main_cases, strict=True):
            for axes, phase in zip(row, _PHASES, strict=True):
                speedups = study.model_points("speedup", case, phase)
                series = {name: list(speedups[name]) for name in _SHOWN}
                bars(axes, range(len(speedups)), series, base=1.0)
                axes.set_title(f"{phase}, {case.label}")
                axes.axhline(1, color="#555555", linewidth=0.8)
                _label(axes, speedups.index)
                clean(axes)
            row[0].set_ylabel("speedup (x)")
        legend_below(figure, grid[0, 0], columns=len(_SHOWN))
        save(figure, path)


def draw_communication(study: Study, path: Path) -> None:
    """Share of communication in sequential execution, with the system's number of CUs and with
    twice this number.
    """
    case, units = study.cases[0], study.compute_units
    with drawn(10, 3.4, columns=len(_PHASES), sharey=True) as (figure, grid):
        for axes, phase in zip(grid[0], _PHASES, strict=True):
            for side, count, name in ((-0.2, units, "as is"), (0.2, 2 * units, "doubled")):
                shares = study.model_points("communication_share", case, phase, compute_units=count)
                axes.bar(
                    np.arange(len(shares)) + side,
                    100 * shares[BASE],
                    0.38,
                    color=_SHADES[name],
                    label=f"{count} CUs",
                )
            axes.set_title(f"{phase}, {case.label}")
            _label(axes, shares.index)
            clean(axes)
        grid[0, 0].set_ylabel("share of time (%)")
        legend_below(figure, grid[0, 0], columns=2)
        save(figure, path)


def _label(axes: Axes, index: "pd.Index[Any]") -> None:
    names = [f"{model}, {tp}" for model, tp in index]
    axes.set_xticks(range(len(names)), names, fontsize=9, rotation=38, ha="right")
