"""Comparison of one channel of the DRAM model with Ramulator 2.1 and DRAMsim3."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sysmodel.config.dram_timing import DramTiming
from sysmodel.engine.codes import READ, WRITE
from sysmodel.lib.progress import Report, no_progress
from t3.experiments.dram.loop import Front
from t3.experiments.dram.patterns import Pattern
from t3.experiments.dram.serve import serve

from .references import DramReference
from .timings import (
    DRAMSIM3_128BIT_CHANNEL,
    DRAMSIM3_COMMANDS_OF_BANK,
    DRAMSIM3_PSEUDO_CHANNELS,
    RAMULATOR_HBM2,
    ramulator_channel,
    with_ramulator_queues,
)

__all__ = [
    "MIX_BOUND",
    "SEQUENTIAL_BOUND",
    "SPAN_BOUND",
    "Channel",
    "DramComparison",
    "channel_like",
    "compare_dram",
    "is_sequential",
    "pattern_like",
    "span",
]

SEQUENTIAL_BOUND = 0.02  # share of the reference's figure
MIX_BOUND = 0.05  # share of the reference's figure, if there is only one reference
SPAN_BOUND = 0.05  # share by which the span of several references is widened at either end

_SEQUENTIAL = {"seq_read": READ, "seq_write": WRITE}
_REQUESTS = 150_000
_REGION_ATOMS = 1 << 24  # distance to the same position in another row, with any mapping


@dataclass(frozen=True)
class Channel:
    """Channel of this model under the conditions of a reference."""

    timing: DramTiming
    address_map: str
    atom_bytes: int
    front: Front | None


def channel_like(reference: DramReference) -> Channel:
    """Make a channel with a reference's timing, mapping and queues.

    Ramulator 2 serves either reads or writes, from two queues that the pseudo-channels of a channel
    share. DRAMsim3 moves a full write queue and the reads into one queue of commands
    (controller.cc, ScheduleTransaction).
    """
    queues = reference.read_queue, reference.write_queue
    if reference.simulator == "ramulator2.1":
        timing = RAMULATOR_HBM2
        address_map = f"pseudo:1 {timing.address_map}"
        if reference.columns:
            timing, address_map = ramulator_channel(reference)
        timing = with_ramulator_queues(replace(timing, refresh=reference.refresh), *queues)
        return Channel(timing, address_map, 32, None)
    wide = reference.channel == "hbm2_128bit_bl4_64B"
    timing = DRAMSIM3_128BIT_CHANNEL if wide else DRAMSIM3_PSEUDO_CHANNELS
    timing = replace(timing, refresh=reference.refresh)
    front = Front(reference.read_queue, DRAMSIM3_COMMANDS_OF_BANK)
    address_map = ("" if wide else "pseudo:1 ") + timing.address_map
    return Channel(timing, address_map, 64 if wide else 32, front)


def is_sequential(reference: DramReference) -> bool:
    """Return True for a sequential pattern of a reference; all others are mixes."""
    return reference.pattern in _SEQUENTIAL


def pattern_like(reference: DramReference, channel: Channel) -> Pattern:
    """Make a reference's pattern on a channel."""
    place = np.arange(_REQUESTS)
    if is_sequential(reference):
        return Pattern(place, np.full(_REQUESTS, _SEQUENTIAL[reference.pattern]))
    offset = reference.region_offset_bytes // channel.atom_bytes
    writes = place % 2
    return Pattern(place // 2 + writes * (_REGION_ATOMS + offset), writes * WRITE)


def span(reference: DramReference, references: list[DramReference]) -> tuple[float, float]:
    """Lowest and highest figure of a mix under equal conditions, widened by ``SPAN_BOUND``.

    Equal conditions are the same pattern, width of the channel and kind of refresh, and agreement
    on whether both regions begin in the same bank.
    """
    figures = [
        other.fraction_of_peak
        for other in references
        if other.pattern == reference.pattern
        and other.channel == reference.channel
        and other.refresh == reference.refresh
        and (other.region_offset_bytes == 0) == (reference.region_offset_bytes == 0)
    ]
    return min(figures) * (1 - SPAN_BOUND), max(figures) * (1 + SPAN_BOUND)


@dataclass(frozen=True)
class DramComparison:
    """Figure of a reference with the figure of this model.

    Parameters
    ----------
    reference : DramReference
        Reference with its conditions.
    ours : float
        Share of the peak in this model under the reference's conditions.
    low, high : float
        Bounds for ``ours``.
    """

    reference: DramReference
    ours: float
    low: float
    high: float

    @cached_property
    def difference(self) -> float:
        """Difference of our figure from the reference, relative to the reference."""
        return self.ours / self.reference.fraction_of_peak - 1

    @property
    def binding(self) -> bool:
        """False for references with a per-bank refresh, which stops both pseudo-channels there."""
        return self.reference.refresh != "per-bank"

    @property
    def holds(self) -> bool:
        """True if our figure is within the bounds, or the reference gives no bound."""
        return not self.binding or self.low <= self.ours <= self.high


def compare_dram(
    references: list[DramReference], report: Report = no_progress
) -> list[DramComparison]:
    """Compare every reference figure with ours, in order."""
    compared = []
    for i, one in enumerate(references):
        report("DRAM", i / len(references))
        channel = channel_like(one)
        served = serve(
            channel.timing,
            pattern_like(one, channel),
            address_map=channel.address_map,
            offered_per_cycle=one.offered_per_cycle,
            front=channel.front,
        )
        compared.append(DramComparison(one, served.share_of_peak, *_allowed(one, references)))
    return compared


def _allowed(one: DramReference, references: list[DramReference]) -> tuple[float, float]:
    if not is_sequential(one) and not one.columns:
        return span(one, references)
    bound = SEQUENTIAL_BOUND if is_sequential(one) else MIX_BOUND
    return one.fraction_of_peak * (1 - bound), one.fraction_of_peak * (1 + bound)
