"""What the page says of the DRAM."""

from dataclasses import replace

from ..dram import READ, UPDATE, WRITE
from ..dram_timing import DramTiming
from ..evaluation.markdown import signed
from .dram_comparison import (
    SEQUENTIAL_BOUND,
    SPAN_BOUND,
    DramComparison,
    channels_like,
    is_sequential,
    pattern_like,
)
from .figures import draw_dram
from .page import Picture, Section
from .patterns import Pattern, fraction_of_peak, mixed, random_rows, sequential, strided
from .timings import RAMULATOR_PSEUDO_CHANNEL

__all__ = ["DRAM_FIGURE", "mix_section", "pattern_section", "sequential_section"]

DRAM_FIGURE = "validation-dram.png"

_PATTERN_WORDS = {"seq_read": "read", "seq_write": "write", "rw_1to1": "1:1"}
_CHANNEL_WORDS = {"hbm2_2pc": "2 x 64 bit", "hbm2_128bit_bl4_64B": "128 bit"}


def _conditions(one: DramComparison) -> tuple[str, ...]:
    reference = one.reference
    return (
        reference.simulator,
        _CHANNEL_WORDS[reference.timing],
        "on" if reference.refresh else "off",
    )


def _figures(one: DramComparison) -> tuple[str, str, str]:
    return (
        f"{one.reference.fraction_of_peak:.4f}",
        " / ".join(f"{ours:.4f}" for ours in one.ours),
        " / ".join(signed(100 * difference, "%") for difference in one.differences),
    )


def _own_queue(one: DramComparison) -> float:
    timing = replace(
        channels_like(one.reference)[0],
        queue_depth=DramTiming.queue_depth,
        turnaround_cap=DramTiming.turnaround_cap,
    )
    return fraction_of_peak(timing, pattern_like(one.reference), refresh=one.reference.refresh)


def _broken(compared: list[DramComparison]) -> tuple[str, ...]:
    return tuple(
        f"{' '.join(_conditions(one))}, {one.reference.pattern}, queue "
        f"{one.reference.read_queue}, offset {one.reference.region_offset_bytes}: ours "
        f"{_figures(one)[1]}, allowed {one.low:.4f} to {one.high:.4f}"
        for one in compared
        if one.verdict == "no"
    )


def sequential_section(compared: list[DramComparison]) -> Section:
    """Sequential reads and writes beside each reference."""
    chosen = [one for one in compared if is_sequential(one.reference)]
    return Section(
        title="DRAM: sequential",
        text="One channel, requests offered in order faster than they drain: the share of its "
        "peak that it gives, with the references' timing, queues and refresh. "
        f"Bound: within {100 * SEQUENTIAL_BOUND:g} % of each figure.",
        headings=(
            *("simulator", "channel", "refresh", "access"),
            *("queue", "reference", "ours", "difference", "within"),
        ),
        rows=tuple(
            (
                *_conditions(one),
                _PATTERN_WORDS[one.reference.pattern],
                str(one.reference.read_queue),
                *_figures(one),
                one.verdict,
            )
            for one in chosen
        ),
        text_columns=4,
        broken=_broken(chosen),
    )


def mix_section(compared: list[DramComparison]) -> Section:
    """Mixes beside the span of the references."""
    chosen = [one for one in compared if not is_sequential(one.reference)]
    return Section(
        title="DRAM: reads and writes mixed",
        text="Reads of one region and writes of another in turn. The references disagree, so "
        f"their span under like conditions binds, widened by {100 * SPAN_BOUND:g} % at either end: "
        "the same width of the channel, refresh on or off, the regions beginning in the same bank "
        "(offset 0) or not.\n\n"
        "A reference has a queue for reads and one for writes, this model one for both, which "
        "holds as much as the two. Mixes depend on how many writes are drained before the channel "
        "turns to reads; `turnaround_cap` is set to that. Ramulator 2 drains from 80 to 20 % of a "
        "queue that both pseudo-channels share, DRAMsim3 a full queue of each.\n\n"
        "Of the 128-bit channel the page is not described, and where both regions begin in the "
        "same bank it decides: ours is given for 2 KB (two pseudo-channels' pages side by side) "
        "and for 1 KB (DRAMsim3's stock file). A bound that only one of them meets is open. "
        "*Own queue* is ours with the model's default `turnaround_cap` and queue, whatever the "
        "reference has; no bound applies to it.",
        headings=(
            *("simulator", "channel", "refresh", "queue", "offset", "reference", "ours"),
            *("difference", "allowed", "inside", "own queue"),
        ),
        rows=tuple(
            (
                *_conditions(one),
                str(one.reference.read_queue),
                str(one.reference.region_offset_bytes),
                *_figures(one),
                f"{one.low:.3f}–{one.high:.3f}",
                one.verdict,
                f"{_own_queue(one):.4f}",
            )
            for one in chosen
        ),
        text_columns=3,
        broken=_broken(chosen),
        picture=Picture(
            DRAM_FIGURE,
            "Share of the channel's peak, ours and the references'",
            lambda path: draw_dram(compared, path),
        ),
    )


# Beyond the files: what it is, and its pattern.
_OTHERS = {
    "read and write in turn, 8 atoms each": lambda: mixed(grain_atoms=8),
    "2 reads, 1 write": lambda: mixed(reads=2),
    "1 read, 2 writes": lambda: mixed(writes=2),
    "8 reads, 1 write": lambda: mixed(reads=8),
    "read every 2nd atom": lambda: strided(READ, 2),
    "read every 8th atom": lambda: strided(READ, 8),
    "read an atom of each row, bank after bank": lambda: strided(READ, 128),
    "read an atom of each row of one bank": lambda: strided(READ, 1 << 9),
    "read anywhere": lambda: random_rows(READ),
    "write anywhere": lambda: random_rows(WRITE),
    "NMC updates, sequential": lambda: sequential(UPDATE),
}


def pattern_section() -> Section:
    """Patterns that the references do not have."""
    return Section(
        title="DRAM: other patterns, ours only",
        text="One pseudo-channel of `hbm2_2pc` with Ramulator's timing and the model's own queue "
        "of 64. Unequal ratios gain nothing over equal ones: the model turns round after "
        "`turnaround_cap` cycles however little waits in the other direction, where a controller "
        "that waits for its write queue to fill turns less often. "
        "`sysmodel.validation.patterns.fraction_of_peak` measures any other pattern.",
        headings=("pattern", "refresh on", "refresh off"),
        rows=tuple((what, *_shares(make())) for what, make in _OTHERS.items()),
    )


def _shares(pattern: Pattern) -> list[str]:
    return [
        f"{fraction_of_peak(RAMULATOR_PSEUDO_CHANNEL, pattern, refresh=refresh):.4f}"
        for refresh in (True, False)
    ]
