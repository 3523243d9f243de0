"""DRAM traffic of the sublayers, and over time."""

from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from t3.experiments.evaluation.study import BASE, REPRODUCED, Case, Study

from .style import COLOURS, Places, clean, drawn, legend_below, sublayer_places
from .style import save as save_figure

__all__ = ["draw_traffic", "draw_traffic_over_time"]

_CATEGORIES = {
    "GEMM read": "#30507a",
    "GEMM write": "#7d9cc7",
    "RS read": "#d9722e",
    "RS write": "#f2c879",
    "AG read": "#7b5a8c",
    "AG write": "#cdb5d6",
}
_SAMPLES = 400  # across the width of a page, more cannot be told apart


def draw_traffic(study: Study, path: Path) -> None:
    """Bytes by category of sequential and T3-MCA, as a share of sequential's total."""
    with drawn(10, 6.4, rows=len(study.main_cases), sharex=True, sharey=True) as (figure, grid):
        for axes, case in zip(grid[:, 0], study.main_cases, strict=True):
            places = _traffic_bars(axes, study, case)
            axes.set_ylabel("share of sequential (%)")
            axes.set_title(
                f"{case.label}: {BASE} (left bar) and {REPRODUCED} (right bar; change in %)"
            )
            clean(axes)
        places.label(grid[-1, 0])
        legend_below(figure, grid[0, 0], columns=len(_CATEGORIES))
        save_figure(figure, path)


def _traffic_bars(axes: Axes, study: Study, case: Case) -> Places:
    moved = {
        name: study.points(f"dram_{name.lower().replace(' ', '_')}_bytes", case, group="main")
        for name in _CATEGORIES
    }
    total = study.points("dram_total_bytes", case, group="main")
    places = sublayer_places(total)
    for side, configuration in ((-0.21, BASE), (0.21, REPRODUCED)):
        bottom = np.zeros(len(places.at))
        for name, colour in _CATEGORIES.items():
            heights = 100 * (moved[name][configuration] / total[BASE]).to_numpy()
            label = name if side < 0 else None
            at = np.array(places.at) + side
            axes.bar(at, heights, 0.38, bottom=bottom, color=colour, label=label)
            bottom += heights
        if configuration == REPRODUCED:
            for x, top in zip(places.at, bottom, strict=True):
                axes.text(x + side, top + 1, f"{top - 100:+.0f}", ha="center", fontsize=9)
    return places


def draw_traffic_over_time(study: Study, path: Path) -> None:
    """DRAM bandwidth by category over time, and occupancy of the DRAM queue, without and with MCA.

    A PNG file: areas of many samples are smaller so.
    """
    shown = {name: study.timelines[name] for name in ("t3", REPRODUCED)}
    end = max(_samples(one.series) * one.bucket_ns for one in shown.values()) / 1e3
    with drawn(10, 7.2, rows=3, sharex=True) as (figure, grid):
        for axes, (name, timeline) in zip(grid[:2, 0], shown.items(), strict=True):
            series = [
                timeline.series[f"DRAM {category.lower()} (bytes/ns)"] for category in _CATEGORIES
            ]
            time, rates = _binned(timeline.bucket_ns, series)
            axes.stackplot(time, rates, colors=_CATEGORIES.values(), labels=_CATEGORIES)
            axes.axhline(study.system.dram_bytes_per_ns, color="#555555", linewidth=0.8)
            axes.set_title(f"{name}: DRAM traffic (the line is the peak)")
            axes.set_ylabel("GB/s")
        grid[1, 0].sharey(grid[0, 0])
        axes = grid[2, 0]
        for name, timeline in shown.items():
            queue = next(s for key, s in timeline.series.items() if key.startswith("DRAM queue"))
            time, (entries,) = _binned(timeline.bucket_ns, [queue])
            axes.plot(time, entries, color=COLOURS[name], label=name, linewidth=1)
        axes.set_title("DRAM queue")
        axes.set_ylabel("entries")
        axes.set_xlabel("time (µs)")
        axes.set_xlim(0, end)
        axes.legend(frameon=False, ncols=2, loc="upper right")
        for axes in grid[:, 0]:
            axes.set_ylim(bottom=0)
            clean(axes)
        legend_below(figure, grid[0, 0], columns=len(_CATEGORIES))
        _save_few_colours(figure, path)


def _save_few_colours(figure: Figure, path: Path) -> None:
    """A PNG with a palette; flat areas need no more colours, and it is a third of the size."""
    plain = BytesIO()
    figure.savefig(plain, dpi=130)
    with Image.open(plain) as picture:
        picture.convert("RGB").quantize(64).save(path, optimize=True)


def _samples(series: dict[str, np.ndarray]) -> int:
    return len(next(iter(series.values())))


def _binned(bucket_ns: float, series: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Times in µs and means of neighbouring samples, at most ``_SAMPLES`` of them."""
    values = np.array(series)
    step = -(-values.shape[1] // _SAMPLES)
    values = values[:, : values.shape[1] // step * step]
    means = values.reshape(len(series), -1, step).mean(axis=2)
    return (np.arange(means.shape[1]) + 0.5) * step * bucket_ns / 1e3, means
