"""One channel of the DRAM model beside Ramulator 2.1 and DRAMsim3."""

from dataclasses import dataclass, replace

from ..dram import READ, WRITE
from ..dram_timing import DramTiming
from ..progress import Report, no_progress
from .patterns import Pattern, fraction_of_peak, mixed, sequential
from .references import DramReference
from .timings import (
    DRAMSIM3_128BIT_CHANNELS,
    DRAMSIM3_PSEUDO_CHANNEL,
    RAMULATOR_PSEUDO_CHANNEL,
)

__all__ = [
    "SEQUENTIAL_BOUND",
    "SPAN_BOUND",
    "DramComparison",
    "channels_like",
    "compare_dram",
    "is_sequential",
    "pattern_like",
    "span",
]

SEQUENTIAL_BOUND = 0.02  # of the reference's figure
SPAN_BOUND = 0.05  # by which the span of a mix's references is widened at either end


@dataclass(frozen=True)
class _Controller:
    """A simulator's queues, of which a channel has one for reads and one for writes.

    Parameters
    ----------
    shared : bool
        The pseudo-channels of a channel share its queues.
    drained : float
        Share of the write queue that is written before the channel turns to reads.
    """

    shared: bool
    drained: float


@dataclass(frozen=True)
class _Channel:
    # Of one of its pseudo-channels, by simulator; several where the description leaves them open.
    timings: dict[str, tuple[DramTiming, ...]]
    pseudo_channels: int
    atom_bytes: int


# Ramulator 2: a controller for each channel, of which pseudo-channels are a level; it turns to
# writes above 0.8 of the write queue and back below 0.2 (generic_dram_controller.cpp,
# wr_high_watermark and wr_low_watermark). DRAMsim3 knows no pseudo-channels, so that each is a
# channel with queues of its own; it drains the whole write queue when that is full (controller.cc,
# ScheduleTransaction).
_CONTROLLERS = {
    "ramulator2.1": _Controller(shared=True, drained=0.8 - 0.2),
    "dramsim3": _Controller(shared=False, drained=1.0),
}
_CHANNELS = {
    "hbm2_2pc": _Channel(
        {"ramulator2.1": (RAMULATOR_PSEUDO_CHANNEL,), "dramsim3": (DRAMSIM3_PSEUDO_CHANNEL,)}, 2, 32
    ),
    "hbm2_128bit_bl4_64B": _Channel({"dramsim3": DRAMSIM3_128BIT_CHANNELS}, 1, 64),
}
_SEQUENTIAL = {"seq_read": READ, "seq_write": WRITE}
_MIXES = {"rw_1to1": (1, 1)}


def channels_like(reference: DramReference) -> tuple[DramTiming, ...]:
    """One channel of ours under a reference's conditions; several if these are not all known.

    Ours stands for one pseudo-channel. Its one queue holds what the reference's two hold together,
    and it turns round after as many atoms as the reference drains writes at a time; shared queues
    are divided by the pseudo-channels.
    """
    channel, controller = _CHANNELS[reference.timing], _CONTROLLERS[reference.simulator]
    sharing = channel.pseudo_channels if controller.shared else 1
    drained = controller.drained * reference.write_queue / sharing
    return tuple(
        replace(
            timing,
            queue_depth=(reference.read_queue + reference.write_queue) // sharing,
            turnaround_cap=round(drained * timing.burst),
        )
        for timing in channel.timings[reference.simulator]
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
    ours : tuple of float
        Share of the peak under the reference's conditions; several if these are not all known.
    low, high : float
        Between which ours has to lie.
    """

    reference: DramReference
    ours: tuple[float, ...]
    low: float
    high: float

    @property
    def differences(self) -> list[float]:
        """Of ours, relative to the reference."""
        return [one / self.reference.fraction_of_peak - 1 for one in self.ours]

    @property
    def verdict(self) -> str:
        """``"yes"`` if ours is inside, ``"no"`` if not, ``"open"`` if that hangs on a condition
        that is not known."""
        inside = [self.low <= one <= self.high for one in self.ours]
        return "yes" if all(inside) else "open" if any(inside) else "no"


def compare_dram(
    references: list[DramReference], report: Report = no_progress
) -> list[DramComparison]:
    """Every reference figure beside ours, in their order."""
    compared = []
    for i, one in enumerate(references):
        report("DRAM", i / len(references))
        pattern = pattern_like(one)
        ours = tuple(
            fraction_of_peak(timing, pattern, refresh=one.refresh) for timing in channels_like(one)
        )
        if is_sequential(one):
            low = one.fraction_of_peak * (1 - SEQUENTIAL_BOUND)
            high = one.fraction_of_peak * (1 + SEQUENTIAL_BOUND)
        else:
            low, high = span(one, references)
        compared.append(DramComparison(one, ours, low, high))
    return compared
