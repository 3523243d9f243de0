"""What the page says of the DRAM."""

from collections.abc import Callable
from functools import partial

from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.lib.markdown import signed

from .dram_comparison import (
    SEQUENTIAL_BOUND,
    SPAN_BOUND,
    DramComparison,
    is_sequential,
    pattern_like,
    timing_like,
)
from .figures import draw_dram
from .page import Picture, Section
from .patterns import Pattern, fraction_of_peak, mixed, random_rows, sequential, strided
from .timings import RAMULATOR_PSEUDO_CHANNEL, with_write_queue

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
        f"{one.ours:.4f}",
        signed(100 * one.difference, "%"),
    )


def _own_queue(one: DramComparison) -> float:
    reference = one.reference
    return fraction_of_peak(
        timing_like(reference), pattern_like(reference), refresh=reference.refresh
    )


def _broken(compared: list[DramComparison]) -> tuple[str, ...]:
    return tuple(
        f"{' '.join(_conditions(one))}, {one.reference.pattern}, queue "
        f"{one.reference.read_queue}, offset {one.reference.region_offset_bytes}: ours "
        f"{_figures(one)[1]}, allowed {one.low:.4f} to {one.high:.4f}"
        for one in compared
        if not one.holds
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
                "yes" if one.holds else "no",
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
        "Mixes depend on how writes are held back and drained, so each reference is met with its "
        "own queues. Ramulator 2 serves either reads or writes, and turns when more than 80 % of "
        "its write queue is full and when less than 20 % is: the model's `write_queue`. DRAMsim3 "
        "releases a full write queue among the reads: the model's one queue for both, with "
        "`turnaround_cap` set to as many atoms as are released. Neither bounds how long a request "
        "may wait. Pages of the 128-bit channel have 2 KB, as in DRAMsim3's stock file.\n\n"
        "*Own queue* is ours with the model's default, one queue and its `turnaround_cap`, "
        "whatever the reference has; no bound applies to it.",
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
                "yes" if one.holds else "no",
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


_RATIOS = ((8, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 4), (1, 8))

# Beyond the files: what it is, and its pattern.
_OTHERS: dict[str, Callable[[], Pattern]] = {
    **{f"{r} : {w}": partial(mixed, r, w, offset_bytes=4096) for r, w in _RATIOS},
    **{f"{r} : {w}, same bank": partial(mixed, r, w) for r, w in _RATIOS},
    "1 : 1, 8 atoms each": lambda: mixed(grain_atoms=8, offset_bytes=4096),
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
        text="One pseudo-channel of `hbm2_2pc` with Ramulator's timing: with the model's one queue "
        "of 64 for reads and writes, and with 32 for each and Ramulator's drain. Ratios are reads "
        "to writes in turn, of two regions that begin in different banks unless said otherwise. "
        "With one queue unequal ratios gain nothing over equal ones, since it turns after "
        "`turnaround_cap` cycles however little waits in the other direction; with a write queue "
        "the share of writes decides how often it turns. Where writes are many, it turns to reads "
        "for a few only: while writes drain, the reads that wait fill their queue and then hold up "
        "what is offered behind them. "
        "`t3.experiments.validation.patterns.fraction_of_peak` measures any other pattern.",
        headings=(
            "pattern",
            *("one queue, refresh on", "off"),
            *("write queue, refresh on", "off"),
        ),
        rows=tuple((what, *_shares(make())) for what, make in _OTHERS.items()),
    )


def _shares(pattern: Pattern) -> list[str]:
    return [
        f"{fraction_of_peak(timing, pattern, refresh=refresh):.4f}"
        for timing in (
            RAMULATOR_PSEUDO_CHANNEL,
            with_write_queue(RAMULATOR_PSEUDO_CHANNEL, read_queue=32, write_queue=32),
        )
        for refresh in (True, False)
    ]
