"""One channel of the DRAM model beside Ramulator 2.1 and DRAMsim3."""

from dataclasses import dataclass, replace

from sysmodel.config.dram_timing import DramTiming
from sysmodel.engine.codes import READ, WRITE
from sysmodel.lib.progress import Report, no_progress

from .patterns import Pattern, fraction_of_peak, mixed, sequential
from .references import DramReference
from .timings import (
    DRAMSIM3_128BIT_CHANNEL,
    DRAMSIM3_PSEUDO_CHANNEL,
    RAMULATOR_PSEUDO_CHANNEL,
    with_write_queue,
)

__all__ = [
    "SEQUENTIAL_BOUND",
    "SPAN_BOUND",
    "DramComparison",
    "channel_like",
    "compare_dram",
    "is_sequential",
    "pattern_like",
    "span",
    "timing_like",
]

SEQUENTIAL_BOUND = 0.02  # of the reference's figure
SPAN_BOUND = 0.05  # by which the span of a mix's references is widened at either end


@dataclass(frozen=True)
class _Channel:
    # Of one of its pseudo-channels, by simulator.
    timings: dict[str, DramTiming]
    pseudo_channels: int
    atom_bytes: int


_CHANNELS = {
    "hbm2_2pc": _Channel(
        {"ramulator2.1": RAMULATOR_PSEUDO_CHANNEL, "dramsim3": DRAMSIM3_PSEUDO_CHANNEL}, 2, 32
    ),
    "hbm2_128bit_bl4_64B": _Channel({"dramsim3": DRAMSIM3_128BIT_CHANNEL}, 1, 64),
}
_SEQUENTIAL = {"seq_read": READ, "seq_write": WRITE}
_MIXES = {"rw_1to1": (1, 1)}


def timing_like(reference: DramReference) -> DramTiming:
    """A reference's timing and geometry, with the model's own queue."""
    return _CHANNELS[reference.timing].timings[reference.simulator]


def channel_like(reference: DramReference) -> DramTiming:
    """One channel of ours under a reference's conditions, standing for one pseudo-channel.

    Ramulator 2 serves reads or writes, from a queue of each that the pseudo-channels of a channel
    share: each has its part of both here. DRAMsim3 knows no pseudo-channels, so that each is a
    channel with queues of its own. It releases a full write queue among the reads, into one queue
    of commands (controller.cc, ScheduleTransaction): here, reads and writes wait in one queue that
    holds as much as both of its own, and turn after as many atoms as it releases.
    """
    timing = timing_like(reference)
    if reference.simulator == "ramulator2.1":
        sharing = _CHANNELS[reference.timing].pseudo_channels
        return with_write_queue(
            timing, reference.read_queue // sharing, reference.write_queue // sharing
        )
    return replace(
        timing,
        queue_depth=reference.read_queue + reference.write_queue,
        turnaround_cap=reference.write_queue * timing.burst,
    )


def is_sequential(reference: DramReference) -> bool:
    """Whether a reference's pattern is a sequential one; all others are mixes."""
    return reference.pattern in _SEQUENTIAL


def pattern_like(reference: DramReference) -> Pattern:
    """A reference's pattern as one pseudo-channel sees it: neighbours take turns between them, so
    that a distance is divided by their number."""
    if is_sequential(reference):
        return sequential(_SEQUENTIAL[reference.pattern])
    channel = _CHANNELS[reference.timing]
    return mixed(
        *_MIXES[reference.pattern],
        offset_bytes=reference.region_offset_bytes // channel.pseudo_channels,
        atom_bytes=channel.atom_bytes,
    )


def span(reference: DramReference, references: list[DramReference]) -> tuple[float, float]:
    """The lowest and the highest figure of a mix under like conditions, widened by ``SPAN_BOUND``.

    Like conditions: the same pattern and width of the channel, both with or both without refresh,
    both with or both without the two regions beginning in the same bank.
    """
    figures = [
        other.fraction_of_peak
        for other in references
        if other.pattern == reference.pattern
        and other.timing == reference.timing
        and other.refresh == reference.refresh
        and (other.region_offset_bytes == 0) == (reference.region_offset_bytes == 0)
    ]
    return min(figures) * (1 - SPAN_BOUND), max(figures) * (1 + SPAN_BOUND)


@dataclass(frozen=True)
class DramComparison:
    """A reference's figure and ours.

    Parameters
    ----------
    reference : DramReference
        What and whose.
    ours : float
        Share of the peak under the reference's conditions.
    low, high : float
        Between which ours has to lie.
    """

    reference: DramReference
    ours: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """Of ours, relative to the reference."""
        return self.ours / self.reference.fraction_of_peak - 1

    @property
    def holds(self) -> bool:
        """Whether ours lies inside."""
        return self.low <= self.ours <= self.high


def compare_dram(
    references: list[DramReference], report: Report = no_progress
) -> list[DramComparison]:
    """Every reference figure beside ours, in their order."""
    compared = []
    for i, one in enumerate(references):
        report("DRAM", i / len(references))
        pattern = pattern_like(one)
        ours = fraction_of_peak(channel_like(one), pattern, refresh=one.refresh)
        if is_sequential(one):
            low = one.fraction_of_peak * (1 - SEQUENTIAL_BOUND)
            high = one.fraction_of_peak * (1 + SEQUENTIAL_BOUND)
        else:
            low, high = span(one, references)
        compared.append(DramComparison(one, ours, low, high))
    return compared
