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
            _size(one),
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
        title="An H200: GEMM",
        text="GEMMs of NVIDIA's library (cuBLAS of PyTorch 2.11, fp16, random operands) on an H200 "
        "beside the preset `h200` at the clock that the card had: under its limit of 700 W that is "
        "not the 1830 MHz of the data sheet's peak, with which all other pages reckon. *Alone*: a "
        "kernel with empty caches. *In turn*: one after another for a while, which heats the card "
        "and costs more clock. *Share*: of the peak of the matrix pipes at the clock of *alone*. "
        f"Bound: within {100 * SHARE_BOUND:g} points. Where K is not a multiple of eight, rows do "
        "not begin at multiples of 16 bytes, and the library falls back on a kernel for an older "
        "GPU, without the units that the preset has; those bind nothing. Nothing of the preset was "
        "fitted to these figures.",
        headings=(
            *("M x N x K", "clock (MHz)", "in turn (µs)", "alone (µs)", "ours (µs)"),
            *("share", "ours", "difference", "within"),
        ),
        rows=rows,
        broken=tuple(", ".join(row) for row in rows if row[-1] == "no"),
    )


def card_traffic_section(compared: list[CardGemm]) -> Section:
    """What the GEMMs read from the memory and write to it."""
    return Section(
        title="An H200: the GEMM's memory traffic",
        text="Bytes between the caches and the memory, by the card's counters and in the model. "
        "*Least*: both operands once; of the output the L2 may still hold a part when the kernel "
        "ends. Its 60 MiB are two halves, and what SMs of both read lies in both: from one SM "
        "26 MiB answer after 147 ns, 36 only after 258. So the preset has 30 MiB. In which order "
        "the library's workgroups visit the output is not published, so nothing binds.",
        headings=(
            *("M x N x K", "least read (MB)", "read (MB)", "ours (MB)", "difference"),
            *("output (MB)", "written (MB)", "ours (MB)"),
        ),
        rows=tuple(
            (
                _size(one),
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
    )


def card_section(figures: list[CardFigure]) -> Section:
    """The other figures."""
    return Section(
        title="An H200: memory and latencies",
        text="Arrays of 4 GB read, written, copied and added on the card; the model's channel "
        "serves two streams in that ratio. A GPU's L2 collects writes and lets them go row by row, "
        "so that the memory turns less often than here, where a stream meets the channel's queue "
        "of 64 directly. Latencies are from one load to the next, of 8 MiB and of 4 GiB; the "
        "kernels were started by a graph, where the preset's figure is for launches by the host.",
        headings=("figure", "unit", "measured", "ours", "difference"),
        rows=tuple(
            (
                one.what,
                one.unit,
                _number(one.measured),
                _number(one.ours),
                signed(100 * (one.ours / one.measured - 1), "%"),
            )
            for one in figures
        ),
        text_columns=2,
    )


def _size(one: CardGemm) -> str:
    return f"{one.reference.m} x {one.reference.n} x {one.reference.k}"


def _number(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:,.0f}"
