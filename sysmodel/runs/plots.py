"""The picture of a run: where each configuration's time goes."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .result import ConfigurationResult, RunResult

__all__ = ["PARTS", "configurations_figure", "draw_configurations"]

# From bottom to top: what, colour, time. Colours differ in lightness too, for print and for eyes
# that do not tell hues apart.
PARTS: tuple[tuple[str, str, Callable[[ConfigurationResult], float]], ...] = (
    ("GEMM", "#30507a", lambda one: one.gemm_ns / one.gemm_slowdown),
    (
        "GEMM slowed by communication",
        "#7d9cc7",
        lambda one: one.gemm_ns - one.gemm_ns / one.gemm_slowdown,
    ),
    ("reduce-scatter, exposed", "#d9722e", lambda one: one.exposed_rs_ns),
    ("all-gather, exposed", "#f2c879", lambda one: one.exposed_ag_ns),
)
_INK = {"#30507a": "white", "#d9722e": "white"}


def draw_configurations(result: RunResult, path: Path) -> None:
    """Draw :func:`configurations_figure` into a PNG file."""
    configurations_figure(result).savefig(path)


def configurations_figure(result: RunResult) -> Figure:
    """A stacked bar for each configuration, its speedup above."""
    figure = Figure(figsize=(1.5 + 1.65 * max(4, len(result.configurations)), 5.4), dpi=150)
    axes = figure.subplots()
    names = list(result.configurations)
    tallest = max(one.total_ns for one in result.configurations.values()) / 1e3
    bottoms = [0.0] * len(names)
    for label, colour, part in PARTS:
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
                    color=_INK.get(colour, "black"),
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
        ncols=len(PARTS),
        frameon=False,
        fontsize=9.5,
    )
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure


def _write_above(axes: Axes, x: int, one: ConfigurationResult) -> None:
    """Write the speedup and, smaller, the total; on white, so that no grid line crosses them."""
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
