"""Parts of each configuration's time as bars: a picture for files, a chart for pages."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sysmodel.runs.result import ConfigurationResult, RunResult

from .style import PART_COLOURS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Chart

__all__ = ["bars_chart", "bars_picture", "draw_bars"]

# From bottom to top.
_PARTS: dict[str, Callable[[ConfigurationResult], float]] = {
    "GEMM": lambda one: one.gemm_ns / one.gemm_slowdown,
    "GEMM slowed by communication": lambda one: one.gemm_ns - one.gemm_ns / one.gemm_slowdown,
    "reduce-scatter, exposed": lambda one: one.exposed_rs_ns,
    "all-gather, exposed": lambda one: one.exposed_ag_ns,
}
_WHITE_INK = ("GEMM", "reduce-scatter, exposed")


def bars_chart(result: RunResult) -> "Chart":
    """Stacked bar for each configuration, for HTML."""
    from plotly.graph_objects import Bar
    from plotly.graph_objects import Figure as Chart

    chart = Chart()
    for label, part in _PARTS.items():
        chart.add_trace(
            Bar(
                name=label,
                x=list(result.configurations),
                y=[part(one) / 1e3 for one in result.configurations.values()],
                marker_color=PART_COLOURS[label],
                hovertemplate="%{x}<br>%{fullData.name}: %{y:,.1f} µs<extra></extra>",
            )
        )
    chart.update_layout(
        barmode="stack",
        yaxis_title="time (µs)",
        height=420,
        margin={"t": 20, "b": 40},
        legend={"orientation": "h", "y": -0.12},
    )
    return chart


def draw_bars(result: RunResult, path: Path) -> None:
    """Draw :func:`bars_picture` into a PNG file."""
    bars_picture(result).savefig(path)


def bars_picture(result: RunResult) -> Figure:
    """Stacked bar for each configuration, its speedup above."""
    figure = Figure(figsize=(1.5 + 1.65 * max(4, len(result.configurations)), 5.4), dpi=150)
    axes = figure.subplots()
    names = list(result.configurations)
    tallest = max(one.total_ns for one in result.configurations.values()) / 1e3
    bottoms = [0.0] * len(names)
    for label, part in _PARTS.items():
        colour = PART_COLOURS[label]
        heights = [part(one) / 1e3 for one in result.configurations.values()]
        if max(heights) < 1e-3 * tallest:
            continue
        axes.bar(names, heights, 0.62, bottom=bottoms, color=colour, label=label, zorder=2)
        for x, (height, bottom) in enumerate(zip(heights, bottoms, strict=True)):
            if height > 0.045 * tallest:
                axes.text(
                    x,
                    bottom + height / 2,
                    f"{height:,.0f}",
                    ha="center",
                    va="center",
                    color="white" if label in _WHITE_INK else "black",
                    fontsize=9.5,
                )
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    for x, one in enumerate(result.configurations.values()):
        _write_above(axes, x, one)
    axes.set_ylim(0, 1.14 * tallest)
    axes.set_xlim(-0.6, max(4, len(names)) - 0.4)
    axes.set_ylabel("time (µs)")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(_title(result), fontsize=11, loc="left")
    axes.grid(axis="y", color="#dddddd", zorder=0)
    axes.tick_params(axis="x", length=0, labelsize=10.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="lower center",
        ncols=len(_PARTS),
        frameon=False,
        fontsize=9.5,
    )
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure


def _write_above(axes: Axes, x: int, one: ConfigurationResult) -> None:
    """Write the speedup and, smaller, the total, on white so that no grid line crosses them."""
    lines = [(f"{one.total_ns / 1e3:,.0f} µs", 9.5, "normal")]
    if one.speedup is not None:
        lines.append((f"{one.speedup:.2f}x", 12, "bold"))
    for (words, size, weight), points in zip(lines, (2, 17), strict=False):
        axes.annotate(
            words,
            (x, one.total_ns / 1e3),
            xytext=(0, points),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=size,
            fontweight=weight,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )


def _title(result: RunResult) -> str:
    return (
        f"{result.workload.title}\n{result.system.name}, "
        f"link {result.system.link.bandwidth_gb_per_s:g} GB/s, {result.options.engine} engine"
    )
