"""The picture of a run: where each configuration's time goes."""

from pathlib import Path

from matplotlib.figure import Figure

from .result import ConfigurationResult, RunResult

__all__ = ["draw_configurations"]

# From bottom to top: what, colour, time. Colours differ in lightness too, for print and for eyes
# that do not tell hues apart.
_PARTS = (
    ("GEMM", "#30507a", lambda one: one.gemm_ns / one.gemm_slowdown),
    (
        "GEMM slowed by communication",
        "#7d9cc7",
        lambda one: one.gemm_ns - one.gemm_ns / one.gemm_slowdown,
    ),
    ("reduce-scatter, exposed", "#d9722e", lambda one: one.exposed_rs_ns),
    ("all-gather", "#f2c879", lambda one: one.ag_ns),
)
_INK = {"#30507a": "white", "#d9722e": "white"}


def draw_configurations(result: RunResult, path: Path) -> None:
    """Draw a stacked bar for each configuration, its speedup above, as a PNG file."""
    figure = Figure(figsize=(1.5 + 1.65 * max(4, len(result.configurations)), 5.4), dpi=150)
    axes = figure.subplots()
    names = list(result.configurations)
    tallest = max(one.total_ns for one in result.configurations.values()) / 1e3
    bottoms = [0.0] * len(names)
    for label, colour, part in _PARTS:
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
        axes.text(x, one.total_ns / 1e3 + 0.015 * tallest, _above(one), ha="center", va="bottom")
    axes.set_ylim(0, 1.16 * tallest)
    axes.set_ylabel("time (µs)")
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
    figure.savefig(path)


def _above(one: ConfigurationResult) -> str:
    total = f"{one.total_ns / 1e3:,.0f} µs"
    return total if one.speedup is None else f"{one.speedup:.2f}x\n{total}"


def _title(result: RunResult) -> str:
    return (
        f"{result.workload.title}\n{result.system.name}, "
        f"link {result.system.link.bandwidth_gb_per_s:g} GB/s, {result.options.engine} engine"
    )
