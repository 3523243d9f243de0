"""Sections of the validation page about sampling and the isolated GEMM."""

from t3.report.document import Section, Table
from t3.report.markdown import signed

from .gemm_comparison import BOUND_POINTS, GemmComparison
from .sampling import CHANNELS, GPUS, Sampling, SamplingComparison

__all__ = ["gemm_section", "sampling_section"]

_WHY = {
    CHANNELS.title: "A workgroup, or a wavefront of a collective, waits for the slowest simulated "
    "channel, and a single channel has no slower neighbour; the effect is largest for short GEMMs "
    "and for collectives with short steps. The DMA engine waits for a channel whose queue of "
    "segments is full, which matters when MCA delays communication in some channels more than in "
    f"others. The times are means of {CHANNELS.whole.repeat} repetitions as in `t3 run --repeat`: "
    "the last workgroups on a CU are random, in the sampled and in the full simulation, and "
    "contribute up to the time of a workgroup.",
    GPUS.title: "Real GPUs work on different addresses at a time, and the ring has the speed of "
    "the slowest one.",
}


def sampling_section(sampling: Sampling, compared: list[SamplingComparison]) -> Section:
    """Show total times of sampled and full simulations."""
    rows = tuple(
        (
            one.workload.title,
            one.configuration,
            f"{one.sampled_ns / 1e3:,.1f}",
            f"{one.whole_ns / 1e3:,.1f}",
            signed(100 * one.difference, "%"),
            "yes" if abs(one.difference) <= sampling.bound else "no",
        )
        for one in compared
    )
    return Section(
        title=f"Sampling: {sampling.title}",
        text=f"Total time, golden engine. {_WHY[sampling.title]} "
        f"Bound: within {100 * sampling.bound:g} %.",
        table=Table(
            headings=(
                *(
                    "workload",
                    "configuration",
                    "sampled (µs)",
                    "whole (µs)",
                    "difference",
                    "within",
                ),
            ),
            rows=rows,
            text_columns=2,
        ),
        broken=tuple(", ".join(row[:-1]) for row in rows if row[-1] == "no"),
    )


def gemm_section(compared: list[GemmComparison]) -> Section:
    """Compare the efficiency of the isolated GEMM with a tuned library's efficiency."""
    rows = tuple(
        (
            str(one.k),
            f"{one.library:.1%}",
            f"{one.model:.1%}",
            signed(100 * (one.model - one.library), "points"),
            f"{one.single:.1%}",
            f"{one.measured_gpu:.1%}",
            "–" if one.holds is None else "yes" if one.holds else "no",
        )
        for one in compared
    )
    return Section(
        title="GEMM alone",
        text="Share of the peak that an 8192 x 4256 x K GEMM reaches. The library's curve is a fit "
        "to 789 sizes of rocBLAS on an MI210 (0.94 K / (K + 210), Tensile, aldebaran_104cu; single "
        "sizes scatter by 7 points). The model includes the tile's launch, prologue, fetches "
        "through L2 and memory, LDS, matrix pipe, epilogue and stores, each from its own source, "
        f"and no value is fitted to the curve. Bound: within {BOUND_POINTS:g} points for K of at "
        "least 2048. For smaller K, the model is too fast: the two workgroups on a CU hide each "
        "other's start and end completely. With one workgroup per CU nothing is hidden; the "
        "library lies between the two down to K = 1024, and below both for smaller K. The model "
        "lacks the issue slots that the wavefronts of a SIMD share, reads of C, and the start of "
        "the kernel itself, which a measurement includes.",
        table=Table(
            headings=(
                *("K", "library", "asplos24", "difference", "asplos24, 1 workgroup per CU"),
                *("mi210", "within"),
            ),
            rows=rows,
        ),
        broken=tuple(", ".join(row) for row in rows if row[-1] == "no"),
    )
