"""Sections of the validation page about GPUs."""

from t3.report.document import Section, Table
from t3.report.markdown import signed

from .gpu_comparison import SHARE_BOUND, CardFigure, CardGemm

__all__ = ["card_gemm_section", "card_section", "card_traffic_section"]

_MB = 1e6


def card_gemm_section(compared: list[CardGemm]) -> Section:
    """Show times and shares of the peak of GEMMs."""
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
        "and an H100 against the presets, at the card's clock: its power limit of 700 W does not "
        "allow the 1830 MHz of the data sheet's peak, which all other pages use. *Alone*: a kernel "
        "with empty caches. *In turn*: kernels one after another, which heat the card and lower "
        "its clock. *Share*: share of the peak of the matrix pipes at the clock of *alone*. Bound: "
        f"within {100 * SHARE_BOUND:g} points. If K is not a multiple of eight, rows do not begin "
        "at multiples of 16 bytes, and the library falls back on a kernel for an older GPU, "
        "without the units of the presets; these GEMMs have no bound. One value of the presets was "
        "set after inspection of these times: with one slice of the L2 per channel instead of two, "
        "`h100` was 15 points off at 8192 x 4256 x 2128.",
        table=Table(
            headings=(
                *("GPU", "M x N x K", "clock (MHz)", "in turn (µs)", "alone (µs)", "ours (µs)"),
                *("share", "ours", "difference", "within"),
            ),
            rows=rows,
            text_columns=2,
        ),
        broken=tuple(", ".join(row) for row in rows if row[-1] == "no"),
    )


def card_traffic_section(compared: list[CardGemm]) -> Section:
    """Show the memory traffic of the GEMMs."""
    return Section(
        title="GPUs: the GEMM's memory traffic",
        text="Bytes between the caches and the memory, by the card's counters and in the model. "
        "*Least*: both operands once; the L2 may still hold a part of the output when the kernel "
        "ends. The L2 of Hopper consists of two halves, and data read by SMs of both halves lies "
        "in both: the latency rises at half of the size that the driver reports. The presets "
        "therefore use half of that size. The order in which the library's workgroups visit the "
        "output is not published, so there is no bound.",
        table=Table(
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
        ),
    )


def card_section(figures: list[CardFigure]) -> Section:
    """Show the other figures of the cards."""
    return Section(
        title="GPUs: memory and latencies",
        text="L2: 16 MiB are read repeatedly; the model serves one line per slice and cycle. That "
        "is more than on the card, but the library's workgroups share operands in clusters, which "
        "read them once, while here each workgroup reads its own: the two errors compensate each "
        "other. Writes alone, of 4 GB, are not limited by the memory: both GPUs write at the same "
        "rate. Latencies are from one load to the next in 8 MiB and 4 GiB. The measured kernels "
        "were started by a graph; the presets' figure is for launches by the host.",
        table=Table(
            headings=("GPU", "figure", "unit", "measured", "ours", "difference"),
            rows=tuple(
                (
                    one.preset,
                    one.name,
                    one.unit,
                    _number(one.measured),
                    _number(one.ours),
                    signed(100 * (one.ours / one.measured - 1), "%"),
                )
                for one in figures
            ),
            text_columns=3,
        ),
    )


def _which(one: CardGemm) -> tuple[str, str]:
    return one.preset, f"{one.reference.m} x {one.reference.n} x {one.reference.k}"


def _number(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:,.0f}"
