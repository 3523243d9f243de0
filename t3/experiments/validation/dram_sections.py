"""Sections of the validation page about the DRAM."""

from collections.abc import Callable
from functools import partial

from sysmodel.engine.codes import READ, UPDATE, WRITE
from t3.experiments.dram.memory import standard_memory
from t3.experiments.dram.patterns import Pattern, mixed, random_rows, sequential, strided
from t3.experiments.dram.serve import fraction_of_peak
from t3.report.document import Figure, Section, Table
from t3.report.markdown import signed

from .dram_comparison import (
    MIX_BOUND,
    SEQUENTIAL_BOUND,
    SPAN_BOUND,
    DramComparison,
    is_sequential,
)
from .figures import draw_dram

__all__ = ["DRAM_FIGURE", "mix_section", "pattern_section", "refresh_section", "sequential_section"]

DRAM_FIGURE = "validation-dram.png"

_PATTERN_WORDS = {"seq_read": "read", "seq_write": "write", "rw_1to1": "1:1"}
_CHANNEL_WORDS = {"hbm2_2pc": "HBM2, 2 x 64 bit", "hbm2_128bit_bl4_64B": "HBM2, 128 bit"}
_HEADINGS = (
    *("simulator", "channel", "refresh", "access"),
    *("offset", "offered", "queue", "reference", "ours", "difference"),
)

_BOUND_HEADINGS = (*_HEADINGS, "allowed", "inside")


def channel_words(one: DramComparison) -> str:
    """Name of a reference's channel in words."""
    channel = one.reference.channel
    return _CHANNEL_WORDS.get(channel, channel.replace("_", " "))


def _row(one: DramComparison) -> tuple[str, ...]:
    reference = one.reference
    return (
        reference.simulator,
        channel_words(one),
        reference.refresh,
        _PATTERN_WORDS[reference.pattern],
        str(reference.region_offset_bytes),
        str(reference.offered_per_cycle),
        f"{reference.read_queue}+{reference.write_queue}",
        f"{reference.fraction_of_peak:.4f}",
        f"{one.ours:.4f}",
        signed(100 * one.difference, "%"),
    )


def _bound_row(one: DramComparison) -> tuple[str, ...]:
    return *_row(one), f"{one.low:.3f}–{one.high:.3f}", "yes" if one.holds else "no"


def _broken(compared: list[DramComparison]) -> tuple[str, ...]:
    return tuple(
        f"{', '.join(_row(one)[:7])}: ours {one.ours:.4f}, allowed {one.low:.4f} to {one.high:.4f}"
        for one in compared
        if not one.holds
    )


def sequential_section(compared: list[DramComparison]) -> Section:
    """Compare sequential reads and writes with each reference."""
    chosen = [one for one in compared if one.binding and is_sequential(one.reference)]
    return Section(
        title="DRAM: sequential",
        text="Share of a channel's peak for requests offered in order, with the timing columns, "
        "address mapping, queues and refresh of each reference. "
        f"Bound: within {100 * SEQUENTIAL_BOUND:g} % of each figure.",
        table=Table(_BOUND_HEADINGS, tuple(map(_bound_row, chosen)), text_columns=4),
        broken=_broken(chosen),
    )


def mix_section(compared: list[DramComparison]) -> Section:
    """Compare mixes with the references."""
    chosen = [one for one in compared if one.binding and not is_sequential(one.reference)]
    return Section(
        title="DRAM: reads and writes mixed",
        text="Reads of one region alternate with writes of another; with offset 0 both begin in "
        f"the same bank. Bound: within {100 * MIX_BOUND:g} % of each figure. For the HBM2 channels "
        "of the first file, two simulators give different figures; there the bound is their span "
        f"under equal conditions, widened by {100 * SPAN_BOUND:g} % at either end.\n\nMixes depend "
        "on how writes are held back and drained, so each comparison uses the queues of its "
        "reference. Ramulator 2 serves either reads or writes, from queues that the "
        "pseudo-channels share. It turns to writes when its write queue is more than 80 % full, "
        "and back when it is less than 20 % full; a request whose row is being opened no longer "
        "counts, and is served first whatever the mode. DRAMsim3 moves a full write queue and the "
        "reads into a queue with eight commands per bank. Neither simulator bounds the wait of a "
        "request.",
        table=Table(_BOUND_HEADINGS, tuple(map(_bound_row, chosen)), text_columns=4),
        broken=_broken(chosen),
        figure=Figure(
            DRAM_FIGURE,
            "Share of the channel's peak, ours and the references'",
            lambda path: draw_dram(chosen, path),
        ),
    )


def refresh_section(compared: list[DramComparison]) -> Section:
    """Show the comparison for per-bank refresh, for which the reference gives no bound."""
    chosen = [one for one in compared if not one.binding]
    return Section(
        title="DRAM: per-bank refresh",
        text="While a bank's refresh waits, the reference's controller opens no other row in "
        "either pseudo-channel. The standard does not require this, so its figures are no bound "
        "here. This model refreshes the bank without requests that is expected to be idle longest: "
        "a stream loses at most the `tRREFD` of each refresh interval, in which no other bank may "
        "be activated, and traffic to one bank loses `tRP + tRFC_pb + tRCD` in each `tREFI` "
        "(`tests/sysmodel/memory/test_dram_refresh.py`).",
        table=Table(_HEADINGS, tuple(map(_row, chosen)), text_columns=4),
    )


_RATIOS = ((8, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 4), (1, 8))

# Patterns beyond the references' files, by description.
_OTHERS: dict[str, Callable[[], Pattern]] = {
    "read, sequential": lambda: sequential(READ),
    "write, sequential": lambda: sequential(WRITE),
    **{f"{r} : {w}": partial(mixed, r, w, offset_bytes=16384) for r, w in _RATIOS},
    **{f"{r} : {w}, same bank": partial(mixed, r, w) for r, w in _RATIOS},
    "1 : 1, 8 atoms each": lambda: mixed(grain_atoms=8, offset_bytes=16384),
    "read every 2nd atom": lambda: strided(READ, 2),
    "read every 8th atom": lambda: strided(READ, 8),
    "read anywhere": lambda: random_rows(READ),
    "write anywhere": lambda: random_rows(WRITE),
    "NMC updates, sequential": lambda: sequential(UPDATE),
}
_MEMORIES = {"hbm2": 1000.0, "hbm3": 1600.0, "hbm4": 2000.0}


def pattern_section() -> Section:
    """Show patterns that the references lack."""
    return Section(
        title="DRAM: other patterns, ours only",
        text="HBM channels of three standards with two pseudo-channels each; every pseudo-channel "
        "has one queue of 64 for reads and writes, and mapping and refresh are those of the "
        "presets. Ratios are of alternating reads and writes in two regions. `t3 dram` simulates "
        "any other pattern, or a trace.",
        table=Table(
            ("pattern", *(f"{name}, {mhz:g} MHz" for name, mhz in _MEMORIES.items())),
            tuple((name, *_shares(make())) for name, make in _OTHERS.items()),
        ),
    )


def _shares(pattern: Pattern) -> list[str]:
    return [f"{_share(name, mhz, pattern):.4f}" for name, mhz in _MEMORIES.items()]


def _share(standard: str, clock_mhz: float, pattern: Pattern) -> float:
    return fraction_of_peak(standard_memory(standard, clock_mhz).timing_cycles, pattern)
