"""What the page says of the DRAM."""

from collections.abc import Callable
from functools import partial

from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.lib.markdown import signed
from t3.experiments.dram.memory import standard_memory
from t3.experiments.dram.patterns import Pattern, mixed, random_rows, sequential, strided
from t3.experiments.dram.serve import fraction_of_peak
from t3.experiments.page import Picture, Section

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


def channel_words(one: DramComparison) -> str:
    """A reference's channel, for readers."""
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
    """Sequential reads and writes beside each reference."""
    chosen = [one for one in compared if one.binding and is_sequential(one.reference)]
    return Section(
        title="DRAM: sequential",
        text="One channel, requests offered in order: the share of its peak that it gives, with "
        "each reference's own timing columns, address mapping, queues and refresh. "
        f"Bound: within {100 * SEQUENTIAL_BOUND:g} % of each figure.",
        headings=(*_HEADINGS, "allowed", "inside"),
        rows=tuple(map(_bound_row, chosen)),
        text_columns=4,
        broken=_broken(chosen),
    )


def mix_section(compared: list[DramComparison]) -> Section:
    """Mixes beside the references."""
    chosen = [one for one in compared if one.binding and not is_sequential(one.reference)]
    return Section(
        title="DRAM: reads and writes mixed",
        text="Reads of one region and writes of another in turn; offset 0 is in the same bank. "
        f"Bound: within {100 * MIX_BOUND:g} % of each figure. Of the first file's HBM2 channels "
        "there are figures of two simulators that disagree, so their span under like conditions "
        f"binds, widened by {100 * SPAN_BOUND:g} % at either end.\n\n"
        "Mixes depend on how writes are held back and drained, so each reference is met with its "
        "own queues. Ramulator 2 serves either reads or writes, from queues that the "
        "pseudo-channels share; it turns when more than 80 % of its write queue is full and when "
        "less than 20 % is, and a request whose row is being opened counts no more. DRAMsim3 "
        "releases a full write queue among the reads into a queue of commands, of which a bank "
        "has five (the size is not described; five meets its figures best). Neither bounds how "
        "long a request may wait.",
        headings=(*_HEADINGS, "allowed", "inside"),
        rows=tuple(map(_bound_row, chosen)),
        text_columns=4,
        broken=_broken(chosen),
        picture=Picture(
            DRAM_FIGURE,
            "Share of the channel's peak, ours and the references'",
            lambda path: draw_dram(chosen, path),
        ),
    )


def refresh_section(compared: list[DramComparison]) -> Section:
    """Per-bank refresh, where the reference does not bind."""
    chosen = [one for one in compared if not one.binding]
    return Section(
        title="DRAM: per-bank refresh",
        text="While a bank's refresh waits, the reference's controller starts no other row in "
        "either pseudo-channel, which the standard does not ask for. So its figures bind nothing "
        "here. Ours refreshes a bank that nothing waits for, and of those the one that will be "
        "idle longest: a stream loses at most the `tRREFD` of each refresh interval in which no "
        "other bank may be activated, and one bank alone loses `tRP + tRFC_pb + tRCD` in each "
        "`tREFI` (`tests/sysmodel/memory/test_dram_refresh.py`).",
        headings=_HEADINGS,
        rows=tuple(map(_row, chosen)),
        text_columns=4,
    )


_RATIOS = ((8, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 4), (1, 8))

# Beyond the files: what it is, and its pattern.
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
    """Patterns that the references do not have."""
    return Section(
        title="DRAM: other patterns, ours only",
        text="An HBM channel of two pseudo-channels of three standards, with the model's one queue "
        "of 64 for reads and writes in each, mapping and refresh as the presets have them. Ratios "
        "are reads to writes in turn, of two regions. `t3 dram` serves any other pattern, or a "
        "trace.",
        headings=("pattern", *(f"{name}, {mhz:g} MHz" for name, mhz in _MEMORIES.items())),
        rows=tuple((what, *_shares(make())) for what, make in _OTHERS.items()),
    )


def _shares(pattern: Pattern) -> list[str]:
    return [f"{_share(name, mhz, pattern):.4f}" for name, mhz in _MEMORIES.items()]


def _share(standard: str, clock_mhz: float, pattern: Pattern) -> float:
    return fraction_of_peak(standard_memory(standard, clock_mhz).timing_cycles, pattern)
