"""What the page says of sampling, and of the GEMM alone."""

from sysmodel.lib.markdown import signed
from t3.experiments.page import Section

from .gemm_comparison import BOUND_POINTS, GemmComparison
from .sampling import CHANNELS, GPUS, Sampling, SamplingComparison

__all__ = ["gemm_section", "sampling_section"]

_WHY = {
    CHANNELS.title: "A workgroup, or a wavefront of a collective, waits for the slowest of the "
    "simulated channels, and one channel has no slower neighbour; short GEMMs and collectives with "
    "short steps show it most. The DMA engine waits for a channel whose queue of segments is full, "
    "which shows where MCA lets some channels' communication wait longer than others'. "
    f"Means of {CHANNELS.whole.repeat} repetitions, of which all but the first begin as `t3 run "
    "--repeat` has it: which workgroups come last on a CU is chance, in the sampled run and in the "
    "whole one, and worth up to a workgroup's time.",
    GPUS.title: "Real GPUs differ in which addresses they work on at a time, and the ring goes at "
    "the pace of the slowest.",
}


def sampling_section(sampling: Sampling, compared: list[SamplingComparison]) -> Section:
    """Total times, sampled and whole."""
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
        headings=(
            *("workload", "configuration", "sampled (µs)", "whole (µs)", "difference", "within"),
        ),
        rows=rows,
        text_columns=2,
        broken=tuple(", ".join(row[:-1]) for row in rows if row[-1] == "no"),
    )


def gemm_section(compared: list[GemmComparison]) -> Section:
    """Efficiency of the GEMM alone beside a tuned library's."""
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
        "sizes scatter by 7 points). The model has the tile's launch, prologue, fetches through L2 "
        "and memory, LDS, matrix pipe, epilogue and stores, each from its own source, and nothing "
        "that was fitted to the curve. "
        f"Bound: within {BOUND_POINTS:g} points for K of 2048 and more. Below, the model is too "
        "good: its two workgroups on a CU hide each other's start and end completely. With one "
        "workgroup on a CU nothing is hidden; the library lies between the two down to K = 1024, "
        "and below both at less. What is not modelled: issue slots that the wavefronts of a SIMD "
        "share, reads of C, and the start of the kernel itself, which a measurement contains.",
        headings=(
            *("K", "library", "asplos24", "difference", "asplos24, 1 workgroup per CU"),
            *("mi210", "within"),
        ),
        rows=rows,
        broken=tuple(", ".join(row) for row in rows if row[-1] == "no"),
    )
