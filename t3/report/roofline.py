"""The GEMMs of a run under the roofs of the GPU: a picture for files, a chart for pages."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysmodel.runs.bounds import bounds
from sysmodel.runs.program.activities import title_of
from sysmodel.runs.result import RunResult

from .style import Picture, log_ticks, plain_log, plain_number
from .units import Unit, unit_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Chart

__all__ = ["Roofline", "draw_roofline", "roofline_chart", "roofline_of", "roofline_picture"]

_MARKS = "osD^v<>PX*"
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")
_DECADES = 0.9  # between the axes' ends and the points, or the corner of the roofs
_ROOF, _ISSUE = "#30507a", "#7d9cc7"
_X_TITLE = "flop per byte of memory traffic"


@dataclass(frozen=True)
class Roofline:
    """Points and roofs: flop per byte on the x-axis, rates in ``unit`` on the y-axis.

    Parameters
    ----------
    unit : Unit
        Unit of all rates.
    points : dict
        Flop per byte and rate of each GEMM, by configuration, and title where several are.
    ends : tuple of float
        Lowest and highest flop per byte of the axis.
    peak, can_issue : float
        Peak rate of the pipes, and the rate at which they can issue.
    memory : float
        Peak rate of the memory in bytes for each unit of rate.
    """

    unit: Unit
    points: dict[str, tuple[float, float]]
    ends: tuple[float, float]
    peak: float
    can_issue: float
    memory: float

    @property
    def corner(self) -> float:
        """Flop per byte at which the roofs meet."""
        return self.peak / self.memory

    @property
    def rates(self) -> tuple[float, float]:
        """Lowest and highest rate of the axis."""
        lowest = min([self.ends[0] * self.memory, *(0.8 * y for _, y in self.points.values())])
        return lowest, 2.2 * self.peak


def roofline_of(result: RunResult) -> Roofline:
    """Point for each configuration and GEMM: the GEMM's rate over its flop per byte. The bytes are
    all that the memory moves during the GEMM, for GEMM and communication together."""
    system, program = result.system, result.program
    gemms = {title_of(one.name): one for one in program.gemms}
    memory = system.dram_bytes_per_ns
    unit = unit_of("GFLOP/s", system.peak_flops_per_ns)
    points = {}
    for one in bounds(result):
        if one.phase not in gemms:
            continue
        gemm = gemms[one.phase]
        flops = program.workload_of(gemm, result.workload).flops
        gemm_ns = result.configurations[one.configuration].ns[gemm.name]
        moved = one.busy["memory"] * memory * gemm_ns
        if moved:
            name = one.configuration if len(gemms) == 1 else f"{one.configuration}, {one.phase}"
            points[name] = flops / moved, unit.of(flops / gemm_ns)
    at = [system.peak_flops_per_ns / memory, *(x for x, _ in points.values())]
    peak = unit.of(system.peak_flops_per_ns)
    return Roofline(
        unit=unit,
        points=points,
        ends=(min(at) / 10**_DECADES, max(at) * 10**_DECADES),
        peak=peak,
        can_issue=peak * system.gpu.matrix_issue_rate,
        memory=unit.of(memory),
    )


def draw_roofline(result: RunResult, path: Path) -> None:
    """Draw :func:`roofline_picture` into a PNG file."""
    roofline_picture(result).savefig(path)


def roofline_picture(result: RunResult) -> Picture:
    """Draw :func:`roofline_of` with Matplotlib."""
    roof = roofline_of(result)
    left, right = roof.ends
    figure = Picture(figsize=(7.6, 5.2), dpi=150)
    axes = figure.subplots()
    axes.plot(
        [left, roof.corner, right],
        [left * roof.memory, roof.peak, roof.peak],
        color=_ROOF,
        zorder=2,
    )
    issue = [roof.can_issue / roof.memory, right], [roof.can_issue] * 2
    axes.plot(*issue, color=_ISSUE, ls="--", zorder=2)
    for mark, (name, (x, y)) in zip(_MARKS * 2, roof.points.items(), strict=False):
        axes.plot(x, y, mark, ms=8, mec="white", label=name, zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(roof.ends)
    axes.set_ylim(roof.rates)
    plain_log(axes.xaxis)
    plain_log(axes.yaxis)
    axes.set_xlabel(f"{_X_TITLE} while the GEMM runs")
    axes.set_ylabel(f"GEMM ({roof.unit.name})")
    axes.set_title(f"{result.title}\n{result.system.name}", fontsize=11, loc="left")
    axes.annotate(
        f"pipes {_peak_text(roof)}; dashed: issue rate",
        (right, roof.peak),
        xytext=(-4, 4),
        textcoords="offset points",
        ha="right",
        fontsize=9,
    )
    axes.annotate(
        f"memory {result.system.dram_bytes_per_ns:,.0f} GB/s",
        (left * 1.3, left * 1.3 * roof.memory * 3),
        fontsize=9,
    )
    axes.grid(which="both", color="#e5e5e5", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    if roof.points:
        axes.legend(loc="lower right", fontsize=9, frameon=False)
    figure.tight_layout()
    return figure


def roofline_chart(result: RunResult) -> "Chart":
    """Draw :func:`roofline_of` for HTML."""
    from plotly.graph_objects import Figure as Chart
    from plotly.graph_objects import Scatter

    roof = roofline_of(result)
    left, right = roof.ends
    roofs = {
        "memory, pipes": ([left, roof.corner, right], [left * roof.memory, roof.peak, roof.peak]),
        "issue rate": ([roof.can_issue / roof.memory, right], [roof.can_issue] * 2),
    }
    chart = Chart()
    for (name, (across, rates)), colour in zip(roofs.items(), (_ROOF, _ISSUE), strict=True):
        line = {"color": colour, "dash": "solid" if colour == _ROOF else "dash"}
        chart.add_trace(
            Scatter(name=name, x=across, y=rates, mode="lines", line=line, hoverinfo="skip")
        )
    for symbol, (name, (x, y)) in zip(_SYMBOLS * 2, roof.points.items(), strict=False):
        chart.add_trace(
            Scatter(
                name=name,
                x=[x],
                y=[y],
                mode="markers",
                marker={"size": 11, "symbol": symbol},
                hovertemplate=f"%{{fullData.name}}: %{{y:,.2f}} {roof.unit.name} at %{{x:,.1f}} "
                "flop per byte<extra></extra>",
            )
        )
    chart.update_xaxes(title_text=_X_TITLE, **_log_axis(roof.ends))
    chart.update_yaxes(title_text=f"GEMM ({roof.unit.name})", **_log_axis(roof.rates))
    chart.update_layout(height=460, margin={"t": 20})
    return chart


def _peak_text(roof: Roofline) -> str:
    return f"{roof.peak:,.{0 if roof.peak >= 100 else 1}f} {roof.unit.name}"


def _log_axis(ends: tuple[float, float]) -> dict[str, Any]:
    ticks = log_ticks(*ends)
    return {
        "type": "log",
        "range": [math.log10(end) for end in ends],
        "tickvals": ticks,
        "ticktext": [plain_number(tick) for tick in ticks],
    }
