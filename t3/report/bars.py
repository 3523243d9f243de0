"""Parts of each configuration's time as bars: a picture for files, a chart for pages."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from sysmodel.runs.configuration_result import ConfigurationResult
from sysmodel.runs.result import RunResult

from .style import PART_COLOURS, Picture, plain_number
from .units import Unit, unit_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Chart

__all__ = ["bars_chart", "bars_picture", "draw_bars"]

_FULL = 100  # tallest bar, in its unit, from which on heights are written without decimals
_WHITE_INK = ("GEMM", "reduce-scatter, exposed", "all-reduce, exposed")
_COLOURS = {**PART_COLOURS, "all-reduce, exposed": "#b0507a"}

_Part = Callable[[ConfigurationResult], float]


def bars_chart(result: RunResult) -> "Chart":
    """Stacked bar for each configuration, for HTML."""
    from plotly.graph_objects import Bar
    from plotly.graph_objects import Figure as Chart

    unit = _unit(result)
    chart = Chart()
    for label, part in _parts(result).items():
        chart.add_trace(
            Bar(
                name=label,
                x=list(result.configurations),
                y=[unit.of(part(one)) for one in result.configurations.values()],
                marker_color=_COLOURS[label],
                hovertemplate=f"%{{x}}<br>%{{fullData.name}}: %{{y:,.2f}} {unit.name}"
                "<extra></extra>",
            )
        )
    chart.update_layout(
        barmode="stack",
        yaxis_title=f"time ({unit.name})",
        height=460,
        margin={"t": 20},
    )
    return chart


def draw_bars(result: RunResult, path: Path) -> None:
    """Draw :func:`bars_picture` into a PNG file."""
    bars_picture(result).savefig(path)


def bars_picture(result: RunResult) -> Picture:
    """Stacked bar for each configuration, its speedup above."""
    figure = Picture(figsize=(1.5 + 1.65 * max(4, len(result.configurations)), 5.4), dpi=150)
    axes = figure.subplots()
    names = list(result.configurations)
    unit = _unit(result)
    tallest = unit.of(max(one.total_ns for one in result.configurations.values()))
    digits = 0 if tallest >= _FULL else 1
    bottoms = [0.0] * len(names)
    parts = _parts(result)
    for label, part in parts.items():
        colour = _COLOURS[label]
        heights = [unit.of(part(one)) for one in result.configurations.values()]
        if max(heights) < 1e-3 * tallest:
            continue
        axes.bar(names, heights, 0.62, bottom=bottoms, color=colour, label=label, zorder=2)
        for x, (height, bottom) in enumerate(zip(heights, bottoms, strict=True)):
            if height > 0.045 * tallest:
                axes.text(
                    x,
                    bottom + height / 2,
                    f"{height:,.{digits}f}",
                    ha="center",
                    va="center",
                    color="white" if label in _WHITE_INK else "black",
                    fontsize=9.5,
                )
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    for x, one in enumerate(result.configurations.values()):
        _write_above(axes, x, one, unit, digits)
    axes.set_ylim(0, 1.14 * tallest)
    axes.set_xlim(-0.6, max(4, len(names)) - 0.4)
    axes.set_ylabel(f"time ({unit.name})")
    axes.yaxis.set_major_formatter(plain_number)
    axes.set_title(_title(result), fontsize=11, loc="left")
    axes.grid(axis="y", color="#dddddd", zorder=0)
    axes.tick_params(axis="x", length=0, labelsize=10.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="lower center",
        ncols=len(parts),
        frameon=False,
        fontsize=9.5,
    )
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure


def _parts(result: RunResult) -> Mapping[str, _Part]:
    """Parts of a configuration's time, from bottom to top."""
    program = result.program

    def exposed(operation: str, one: ConfigurationResult) -> float:
        return one.exposed_ns(program)[operation]

    operations = dict.fromkeys(one.operation for one in program.in_order_collectives)
    return {
        "GEMM": _gemms,
        "GEMM slowed by communication": _slowed,
        **{f"{operation}, exposed": partial(exposed, operation) for operation in operations},
    }


def _gemms(one: ConfigurationResult) -> float:
    """Time of the GEMMs, as far as they are not slowed."""
    times = ((one.ns[name], gemm.slowdown) for name, gemm in one.gemms.items())
    return sum(min(ns, ns / slowdown) for ns, slowdown in times)


def _slowed(one: ConfigurationResult) -> float:
    """Time by which communication slows the GEMMs."""
    times = ((one.ns[name], gemm.slowdown) for name, gemm in one.gemms.items())
    return sum(max(0.0, ns * (1 - 1 / slowdown)) for ns, slowdown in times)


def _unit(result: RunResult) -> Unit:
    return unit_of("ns", max(one.total_ns for one in result.configurations.values()))


def _write_above(axes: Axes, x: int, one: ConfigurationResult, unit: Unit, digits: int) -> None:
    """Write the speedup and, smaller, the total, on white so that no grid line crosses them."""
    total = unit.of(one.total_ns)
    lines = [(f"{total:,.{digits}f} {unit.name}", 9.5, "normal")]
    if one.speedup is not None:
        lines.append((f"{one.speedup:.2f}x", 12, "bold"))
    for (words, size, weight), points in zip(lines, (2, 17), strict=False):
        axes.annotate(
            words,
            (x, total),
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
        f"{result.title}\n{result.system.name}, "
        f"{result.system.topology.name}, {result.system.link.bandwidth_gb_per_s:g} GB/s a GPU, "
        f"{result.options.engine} engine"
    )
