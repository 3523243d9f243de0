"""Figures of the speedups of the sublayers, and of the parts of their time."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from t3.experiments.evaluation.metrics import geomean
from t3.experiments.evaluation.study import BASE, REPRODUCED, Case, Study
from t3.report.style import COLOURS, PART_COLOURS, Grid, bars, clean, drawn, legend_below, save

from .places import Places, sublayer_places
from .shares import draw_shares

__all__ = ["draw_compute", "draw_cu_split", "draw_ideal", "draw_speedups", "draw_time"]

_TRACKED = ("t3", REPRODUCED, "t3-critical")
_SHOWN = (*_TRACKED, "ideal-overlap", "ideal-rs-nmc")


def draw_speedups(study: Study, group: str, path: Path) -> None:
    """Speedup over sequential of every sublayer and configuration, a panel for each dispatch."""
    with drawn(10, 6.4, rows=len(study.main_cases), sharex=True, sharey=True) as (figure, grid):
        for axes, case in zip(grid[:, 0], study.main_cases, strict=True):
            speedups = study.points("speedup", case, group=group)
            places = sublayer_places(speedups, ["geo-\nmean"])
            means = {name: geomean(speedups[name]) for name in _SHOWN}
            series = {name: [*speedups[name], means[name]] for name in _SHOWN}
            bars(axes, [*places.at, *places.after], series, base=1.0)
            axes.axhline(1, color="#555555", linewidth=0.8)
            axes.set_title(
                f"{case.label}:  geomean "
                + ",  ".join(f"{name} {mean:.2f}x" for name, mean in means.items())
            )
            axes.set_ylabel("speedup (x)")
            clean(axes)
            axes.spines.bottom.set_visible(False)
        _finish(figure, grid, places)
        save(figure, path)


def draw_time(study: Study, group: str, path: Path) -> None:
    """Share of the sequential time that each part takes: sequential on the left, T3-MCA right."""
    draw_shares(
        study,
        path,
        lambda case: _parts(study, case, group),
        PART_COLOURS.values(),
        shows_change=False,
    )


def _parts(study: Study, case: Case, group: str) -> dict[str, pd.DataFrame]:
    column = {
        name: study.points(name, case, group=group)
        for name in ("total_ns", "gemm_ns", "gemm_slowdown", "ag_ns")
    }
    alone = column["gemm_ns"] / column["gemm_slowdown"]
    exposed = column["total_ns"] - column["gemm_ns"] - column["ag_ns"]
    parts = {
        "GEMM": alone.clip(upper=column["gemm_ns"]),
        "GEMM slowed by communication": (column["gemm_ns"] - alone).clip(lower=0),
        "reduce-scatter, exposed": exposed.clip(lower=0),
        "all-gather, exposed": column["ag_ns"],
    }
    whole = column["total_ns"][BASE]
    return {name: part.div(whole, axis=0) * 100 for name, part in parts.items()}


def draw_ideal(study: Study, path: Path) -> None:
    """Speedup of T3 under three policies, as a share of the ideal overlap's speedup."""
    marks = dict(zip(_TRACKED, "oDs", strict=True))
    with drawn(10, 5.6, rows=len(study.main_cases), sharex=True, sharey=True) as (figure, grid):
        for axes, case in zip(grid[:, 0], study.main_cases, strict=True):
            speedups = study.points("speedup", case, group="all")
            places = sublayer_places(speedups)
            shares = pd.DataFrame(
                {name: 100 * speedups[name] / speedups["ideal-overlap"] for name in _TRACKED}
            )
            ends = shares.min(axis=1), shares.max(axis=1)
            axes.vlines(places.at, *ends, color="#bbbbbb", linewidth=2)
            for name, share in shares.items():
                axes.plot(places.at, share, marks[name], color=COLOURS[name], label=name, ms=5)
            axes.axhline(100, color=COLOURS["ideal-overlap"], label="ideal-overlap", linewidth=1.4)
            axes.set_title(case.label)
            axes.set_ylabel("share of ideal (%)")
            clean(axes)
        _finish(figure, grid, places)
        save(figure, path)


def draw_compute(study: Study, path: Path) -> None:
    """T3-MCA's speedup with the system's number of CUs and with twice this number, geomean by
    layer.
    """
    layers = list(study.points("speedup", study.cases[0], group="main").index.unique("layer"))
    with drawn(10, 3.2, columns=len(study.main_cases), sharey=True) as (figure, grid):
        for axes, case in zip(grid[0], study.main_cases, strict=True):
            _compute_bars(axes, study, case, layers)
            axes.set_xticks(range(len(layers)), [layer.upper() for layer in layers])
            axes.margins(y=0.15)
            axes.set_title(f"{case.label}: {REPRODUCED}, geomean")
            clean(axes)
        grid[0, 0].set_ylabel("speedup (x)")
        legend_below(figure, grid[0, 0], columns=2)
        save(figure, path)


def _compute_bars(axes: Axes, study: Study, case: Case, layers: list[str]) -> None:
    units = study.compute_units
    for side, count, colour in ((-0.2, units, REPRODUCED), (0.2, 2 * units, "ideal-overlap")):
        wide = study.points("speedup", case, group="main", compute_units=count)[REPRODUCED]
        speedups = [geomean(wide[wide.index.get_level_values("layer") == one]) for one in layers]
        drawn_bars = axes.bar(
            np.arange(len(layers)) + side,
            np.array(speedups) - 1,
            0.38,
            bottom=1,
            color=COLOURS[colour],
            label=f"{count} CUs",
        )
        labels = [f"{value:.2f}x" for value in speedups]
        axes.bar_label(drawn_bars, labels, padding=2, fontsize=9)


def draw_cu_split(study: Study, path: Path) -> None:
    """Geomean speedups of splitting the CUs between GEMM and collective, compared with T3's."""
    shown = ("cu-split-8", "cu-split-16", *_TRACKED, "ideal-overlap")
    with drawn(8, 3.4) as (figure, grid):
        axes = grid[0, 0]
        for i, case in enumerate(study.main_cases):
            speedups = study.points("speedup", case, group="main")
            means = {name: geomean(speedups[name]) for name in shown}
            bars(axes, [i], {name: [mean] for name, mean in means.items()}, base=1.0)
        handles = axes.containers[: len(shown)]
        for container in axes.containers:
            labels = [f"{bar.get_y() + bar.get_height():.2f}x" for bar in container]
            axes.bar_label(container, labels, padding=2, fontsize=9)
        axes.set_xticks(range(len(study.main_cases)), [case.label for case in study.main_cases])
        axes.axhline(1, color="#555555", linewidth=0.8)
        axes.set_ylabel("speedup (x)")
        axes.margins(y=0.15)
        figure.legend(handles, shown, loc="outside lower center", ncols=len(shown), frameon=False)
        axes.set_title("Mega-GPT-2 and T-NLG, geomean over 16 sublayers")
        clean(axes)
        save(figure, path)


def _finish(figure: Figure, grid: Grid, places: Places) -> None:
    """Label only the lowest of panels that share their axis, and add one legend."""
    places.label(grid[-1, 0])
    legend_below(figure, grid[0, 0], columns=6)
