"""What the page says of a GPU beside its model."""

from sysmodel.lib.markdown import signed
from t3.experiments.page import Section

from .gpu_comparison import SHARE_BOUND, CardFigure, CardGemm

__all__ = ["card_gemm_section", "card_section", "card_traffic_section"]

_MB = 1e6


def card_gemm_section(compared: list[CardGemm]) -> Section:
    """Times and shares of the peak of GEMMs."""
    rows = tuple(
        (
            *_which(one),
            f"{one.reference.clock_mhz:,.0f}",
            f"{one.reference.one_of_many_ns / 1e3:,.1f}",
            f"{one.reference.time_ns / 1e3:,.1f}",
            f"{one.ours.time_ns / 1e3:,.1f}",
            f"{one.measured_share:.1%}",
            f"{one.ours.share_of_peak:.1%}",
            signed(100 * (one.ours.share_of_peak - one.measured_share), "points"),
            "–" if one.holds is None else "yes" if one.holds else "no",
        )
        for one in compared
    )
    return Section(
        title="GPUs: GEMM",
        text="GEMMs of NVIDIA's library (cuBLAS of PyTorch 2.11, fp16, random operands) on an H200 "
        "and an H100 beside the presets, at the clock that the card had: under its limit of 700 W "
        "that is not the 1830 MHz of the data sheet's peak, with which all other pages reckon. "
        "*Alone*: a kernel with empty caches. *In turn*: one after another, which heats the card "
        "and costs more clock. *Share*: of the peak of the matrix pipes at the clock of *alone*. "
        f"Bound: within {100 * SHARE_BOUND:g} points. Where K is not a multiple of eight, "
        "rows do not begin at multiples of 16 bytes, and the library falls back on a kernel for an "
        "older GPU, without the units that the presets have; those bind nothing. Of the presets "
        "one value was set after a look at these times: with one slice of the L2 for each channel, "
        "not two, `h100` was 15 points off at 8192 x 4256 x 2128.",
        headings=(
            *("GPU", "M x N x K", "clock (MHz)", "in turn (µs)", "alone (µs)", "ours (µs)"),
            *("share", "ours", "difference", "within"),
        ),
        rows=rows,
        text_columns=2,
        broken=tuple(", ".join(row) for row in rows if row[-1] == "no"),
    )


def card_traffic_section(compared: list[CardGemm]) -> Section:
    """What the GEMMs read from the memory and write to it."""
    return Section(
        title="GPUs: the GEMM's memory traffic",
        text="Bytes between the caches and the memory, by the card's counters and in the model. "
        "*Least*: both operands once; of the output the L2 may still hold a part when the kernel "
        "ends. An L2 of Hopper is two halves, and what SMs of both read lies in both: the latency "
        "over the bytes that are read leaps at half of what the driver reports. So the presets "
        "have that half. In which order the library's workgroups visit the output is not "
        "published, so nothing binds.",
        headings=(
            *("GPU", "M x N x K", "least read (MB)", "read (MB)", "ours (MB)", "difference"),
            *("output (MB)", "written (MB)", "ours (MB)"),
        ),
        rows=tuple(
            (
                *_which(one),
                f"{2 * one.reference.k * (one.reference.m + one.reference.n) / _MB:,.0f}",
                f"{one.reference.read_bytes / _MB:,.0f}",
                f"{one.ours.read_bytes / _MB:,.0f}",
                signed(100 * (one.ours.read_bytes / one.reference.read_bytes - 1), "%"),
                f"{2 * one.reference.m * one.reference.n / _MB:,.0f}",
                f"{one.reference.written_bytes / _MB:,.0f}",
                f"{one.ours.written_bytes / _MB:,.0f}",
            )
            for one in compared
        ),
        text_columns=2,
    )


def card_section(figures: list[CardFigure]) -> Section:
    """The other figures."""
    return Section(
        title="GPUs: memory and latencies",
        text="Of the L2: 16 MiB read again and again; ours is a line in each slice and cycle. That "
        "is more than the card's, but the library's workgroups share operands in clusters, "
        "which read them once; here each reads its own. So two errors make up for each other. "
        "Of the memory: arrays of 4 GB read, written, copied and added; the model's channel "
        "serves two streams in that ratio. A GPU's L2 collects writes and lets them go row by "
        "row, so that the memory turns less often than here, where a stream meets the channel's "
        "queue of 64 directly. What limits writes alone is not the memory: both GPUs write as "
        "fast. Latencies are from one load to the next, of 8 MiB and of 4 GiB; the kernels were "
        "started by a graph, where the presets' figure is for launches by the host.",
        headings=("GPU", "figure", "unit", "measured", "ours", "difference"),
        rows=tuple(
            (
                one.preset,
                one.what,
                one.unit,
                _number(one.measured),
                _number(one.ours),
                signed(100 * (one.ours / one.measured - 1), "%"),
            )
            for one in figures
        ),
        text_columns=3,
    )


def _which(one: CardGemm) -> tuple[str, str]:
    return one.preset, f"{one.reference.m} x {one.reference.n} x {one.reference.k}"


def _number(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:,.0f}"
