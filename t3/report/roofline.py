"""The GEMMs of a run under the roofs of the GPU: its pipes and its memory."""

from pathlib import Path

from matplotlib.figure import Figure

from sysmodel.runs.bounds import bounds
from sysmodel.runs.result import RunResult

__all__ = ["draw_roofline", "roofline_picture"]

_MARKS = "osD^v<>PX*"
_DECADES = 0.9  # between the axes' ends and the points, or the corner of the roofs


def draw_roofline(result: RunResult, path: Path) -> None:
    """Draw :func:`roofline_picture` into a PNG file."""
    roofline_picture(result).savefig(path)


def roofline_picture(result: RunResult) -> Figure:
    """Point for each configuration: rate of its GEMM over the GEMM's flop per byte. The bytes are
    all that the memory moves during the GEMM, for GEMM and communication together.

    The roofs are the pipes' peak, the rate at which they can issue, and the memory's peak.
    """
    system, flops = result.system, result.workload.flops
    peak, memory = system.peak_flops_per_ns, system.dram_bytes_per_ns
    figure = Figure(figsize=(7.6, 5.2), dpi=150)
    axes = figure.subplots()
    points = {}
    for one in bounds(result):
        gemm_ns = result.configurations[one.configuration].gemm_ns
        moved = one.busy["memory"] * memory * gemm_ns
        if one.phase == "GEMM" and moved:
            points[one.configuration] = flops / moved, flops / gemm_ns
    corner = peak / memory
    at = [corner, *(x for x, _ in points.values())]
    left, right = min(at) / 10**_DECADES, max(at) * 10**_DECADES
    axes.plot([left, corner, right], [left * memory, peak, peak], color="#30507a", zorder=2)
    can_issue = peak * system.gpu.matrix_issue_rate
    axes.plot([can_issue / memory, right], [can_issue] * 2, color="#7d9cc7", ls="--", zorder=2)
    for mark, (name, (x, y)) in zip(_MARKS * 2, points.items(), strict=False):
        axes.plot(x, y, mark, ms=8, mec="white", label=name, zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(top=2.2 * peak)
    axes.set_xlabel("flop for each byte of memory traffic while the GEMM runs")
    axes.set_ylabel("GEMM (TFLOP/s)")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1e3:g}")
    axes.set_title(f"{result.workload.title}\n{system.name}", fontsize=11, loc="left")
    axes.annotate(
        f"pipes {peak / 1e3:,.0f} TFLOP/s; dashed: what they can issue",
        (right, peak),
        xytext=(-4, 4),
        textcoords="offset points",
        ha="right",
        fontsize=9,
    )
    axes.annotate(f"memory {memory:,.0f} GB/s", (left * 1.3, left * 1.3 * memory * 3), fontsize=9)
    axes.grid(which="both", color="#e5e5e5", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    if points:
        axes.legend(loc="lower right", fontsize=9, frameon=False)
    figure.tight_layout()
    return figure
