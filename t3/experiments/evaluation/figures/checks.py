"""Figures that show how far the results can be trusted."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import ScalarFormatter

from t3.experiments.evaluation.sensitivity import effects
from t3.experiments.evaluation.study import POINT, Study
from t3.report.style import COLOURS, clean, drawn, legend_below, save

__all__ = ["draw_efficiency", "draw_sensitivity"]

_STYLES = {"free": "D-", "stages": "s--"}
_POLICIES = {"t3": 0.26, "t3-mca": 0.0, "t3-critical": -0.26}  # and where their bars are


def draw_efficiency(study: Study, path: Path) -> None:
    """Efficiency of the GEMM alone over K, compared with a tuned library."""
    depths = np.array([k for k, _, _ in study.efficiency])
    library = np.array([share for _, _, share in study.efficiency])
    with drawn(7, 3.6) as (figure, grid):
        axes = grid[0, 0]
        band = (100 * library - 10, 100 * library + 10)
        axes.fill_between(depths, *band, color="#eeeeee", label="library ± 10 points")
        axes.plot(depths, 100 * library, "o-", color=COLOURS["ideal-overlap"], label="library")
        for dispatch, style in _STYLES.items():
            ours = [100 * shares[dispatch] for _, shares, _ in study.efficiency]
            axes.plot(depths, ours, style, color=COLOURS["t3-mca"], label=f"model, {dispatch}")
        axes.set_xscale("log", base=2)
        axes.set_xticks(depths)
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set_xlabel("K")
        axes.set_ylabel("share of peak (%)")
        axes.set_ylim(0, 100)
        axes.legend(frameon=False, loc="lower right")
        clean(axes)
        save(figure, path)


def draw_sensitivity(study: Study, path: Path) -> None:
    """Range of the speedups over each parameter's values, widest first, a panel for each point."""
    moved = effects(study)
    points: list[tuple[Any, pd.DataFrame]] = list(moved.groupby(POINT, sort=False))
    shift = pd.concat(
        [(moved[name] - moved[f"{name} default"]).abs() for name in _POLICIES], axis=1
    )
    order = shift.max(axis=1).groupby(moved["parameter"]).max().sort_values().index
    with drawn(10, 1.4 + 0.27 * len(order), columns=len(points), sharex=True, sharey=True) as (
        figure,
        grid,
    ):
        for axes, ((model, tp, layer), rows) in zip(grid[0], points, strict=True):
            for at, parameter in enumerate(order):
                values = rows[rows["parameter"] == parameter]
                for name, side in _POLICIES.items():
                    if values.empty:
                        continue
                    default = values[f"{name} default"].iloc[0]
                    low = min(values[name].min(), default) - default
                    high = max(values[name].max(), default) - default
                    label = name if at == 0 else None
                    axes.barh(at + side, high - low, 0.25, low, color=COLOURS[name], label=label)
            axes.axvline(0, color="#555555", linewidth=0.8)
            first = rows.iloc[0]
            axes.set_title(
                f"{model} {layer.upper()}, TP {tp}, at the defaults:\n"
                + ", ".join(f"{name} {first[f'{name} default']:.3f}x" for name in _POLICIES)
            )
            axes.set_yticks(range(len(order)), order, fontsize=9)
            axes.set_ylim(-0.6, len(order) - 0.4)
            axes.set_xlabel("change of the speedup (x)")
            clean(axes, grid="x")
        legend_below(figure, grid[0, 0], columns=len(_POLICIES))
        save(figure, path)
