"""Figures of the DRAM traffic: by sublayer, and over time."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from sysmodel.runs.columns import SUBLAYER
from sysmodel.runs.samples import dram_series
from t3.experiments.evaluation.study import BASE, REPRODUCED, Case, Study
from t3.report.style import COLOURS, clean, drawn, legend_below

from .shares import draw_shares

__all__ = ["draw_traffic", "draw_traffic_over_time"]

_COLOURS = {
    "gemm_read": "#30507a",
    "gemm_write": "#7d9cc7",
    "rs_read": "#d9722e",
    "rs_write": "#f2c879",
    "ag_read": "#7b5a8c",
    "ag_write": "#cdb5d6",
}
_SAMPLES = 400  # across the width of a page; more samples cannot be distinguished


def draw_traffic(study: Study, path: Path) -> None:
    """Draw the bytes by category of sequential and T3-MCA, as a share of sequential's total."""

    def parts_of(case: Case) -> dict[str, pd.DataFrame]:
        whole = study.points(SUBLAYER.dram["total"].key, case, group="main")[BASE]
        moved = {
            name: study.points(SUBLAYER.dram[name].key, case, group="main") for name in _COLOURS
        }
        return {
            SUBLAYER.dram[name].title: 100 * one.div(whole, axis=0) for name, one in moved.items()
        }

    draw_shares(study, path, parts_of, _COLOURS.values())


def draw_traffic_over_time(study: Study, path: Path) -> None:
    """DRAM bandwidth by category over time, and occupancy of the DRAM queue, without and with MCA.

    The figure is a PNG file, which is smaller than an SVG file for areas of many samples.
    """
    shown = {name: study.timelines[name] for name in ("t3", REPRODUCED)}
    titles = [SUBLAYER.dram[name].title for name in _COLOURS]
    end = max(_samples(one.series) * one.bucket_ns for one in shown.values()) / 1e3
    with drawn(10, 7.2, rows=3, sharex=True) as (figure, grid):
        for axes, (name, timeline) in zip(grid[:2, 0], shown.items(), strict=True):
            series = [timeline.series[dram_series(name)] for name in _COLOURS]
            time, rates = _binned(timeline.bucket_ns, series)
            axes.stackplot(time, rates, colors=_COLOURS.values(), labels=titles)
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
        legend_below(figure, grid[0, 0], columns=len(_COLOURS))
        _save_few_colours(figure, path)


def _save_few_colours(figure: Figure, path: Path) -> None:
    """Write a PNG file with a palette: flat areas need few colours, and the file shrinks to a
    third.
    """
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
