"""Launch maps: a reduce-scatter as ways of the tiles that one kernel makes.

Hardware that tracks tiles runs a stage that adds in one launch. A chunk without arrivals leaves as
the kernel stores it. A chunk with arrivals is added in the memory of the rank, and is sent or kept
when it is complete. A *slot* is a receiver's number of a tile; see :mod:`.slots`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from sysmodel.lib.errors import InputError
from sysmodel.lib.neighbours import scattered

from .check import check
from .registry import algorithm
from .schedule import Expanded, Flow, expanded

__all__ = ["LaunchMap", "MappedRange", "TrackedSchedule", "tracked_schedule"]


@dataclass(frozen=True)
class MappedRange:
    """Workgroups that follow each other in dispatch order, and whose tiles go the same way.

    Parameters
    ----------
    workgroups : int
        Number of the workgroups.
    shares : int
        Contributions that make a tile complete here; 0 if the kernel's stores leave.
    to : tuple of int
        Ranks to which the stores or the complete tiles go; without a rank, the tiles stay.
    slot_offset : int
        Difference between a tile's slot at its receivers and its dispatch index here.
    """

    workgroups: int
    shares: int
    to: tuple[int, ...]
    slot_offset: int

    def joined(self, other: "MappedRange") -> "MappedRange | None":
        """Return this range and the one behind it as one, or None if their tiles part."""
        longer = replace(self, workgroups=self.workgroups + other.workgroups)
        return longer if replace(other, workgroups=longer.workgroups) == longer else None


@dataclass(frozen=True)
class LaunchMap:
    """Part of a rank in a launch.

    Parameters
    ----------
    ranges : tuple of MappedRange
        Ranges in dispatch order.
    base : int
        First dispatch index.
    first_slot : int
        First slot whose tile becomes complete here. The last one is that of the last workgroup.
    own : int
        Workgroups of the chunk that stays, the last ones.
    ordered : bool
        Each arriving contribution has a slot of its own, with one share.
    receivers, senders : tuple of int
        Ranks to which this one sends, in dispatch order, and those that send to it.
    """

    ranges: tuple[MappedRange, ...]
    base: int
    first_slot: int
    own: int
    ordered: bool
    receivers: tuple[int, ...]
    senders: tuple[int, ...]

    @property
    def peers(self) -> tuple[int, ...]:
        """Ranks with which this one exchanges packets, the receivers first."""
        return tuple(dict.fromkeys(self.receivers + self.senders))

    @property
    def workgroups(self) -> int:
        """Number of workgroups of the kernel."""
        return sum(one.workgroups for one in self.ranges)

    @property
    def repeated_end(self) -> int:
        """End of the slots that are tiles of the own chunk over and over, one for each contribution
        to them; 0 if there are none."""
        return self.base + self.workgroups - self.own if self.ordered else 0


@dataclass(frozen=True)
class TrackedSchedule:
    """Reduce-scatter that hardware runs which tracks tiles.

    Parameters
    ----------
    schedule : Expanded
        Schedule of a single stage.
    ordered : bool
        Number every arriving contribution by the position of its chunk in its sender's order. With
        a credit window of at most a chunk, the contributions to a tile are then added in this
        order. Otherwise all contributions to a tile have its slot, and are added as they arrive.

    Raises
    ------
    InputError
        The schedule does not reduce and scatter; it has several stages or cuts chunks; its ranks
        make their chunks in another order than the kernels do; or it sends arrivals on that are to
        be ``ordered``.
    """

    schedule: Expanded
    ordered: bool = False

    def __post_init__(self) -> None:
        check(self.schedule)
        _require(self.schedule, self.ordered)

    @property
    def has_fixed_sums(self) -> bool:
        """True if the sums do not depend on the order in which contributions arrive."""
        flows = (flow for one in self.schedule.flows[0] for flow in one)
        return self.ordered or all(flow.contributions <= 2 for flow in flows)

    def map(self, sizes: Sequence[int], rank: int) -> LaunchMap:
        """Map the launch of a rank.

        Parameters
        ----------
        sizes : sequence of int
            Workgroups of the chunk of each owner.
        """
        flows = self.schedule.flows[0]
        starts = [_starts(one, sizes) for one in flows]
        # Slots of the contributions in front of those of the own tiles; none is negative.
        before = [self.ordered * one[-1].arrivals * sizes[r] for r, one in enumerate(flows)]
        base = max(0, *(slots - starts[r][r] for r, slots in enumerate(before)))
        ranges = list[MappedRange]()
        for position, flow in enumerate(flows[rank]):
            owner = flow.chunk.owner
            shares = 0 if not flow.arrivals else 1 if self.ordered else flow.contributions
            offset = 0
            for peer in flow.to:
                offset = starts[peer][owner] - starts[rank][owner]
                if self.ordered:
                    offset -= (flows[peer][-1].arrivals - position) * sizes[owner]
            one = MappedRange(sizes[owner], shares, flow.to, offset)
            longer = ranges[-1].joined(one) if ranges else None
            ranges[-1:] = [longer] if longer else [*ranges[-1:], one]
        first = next(flow.chunk.owner for flow in flows[rank] if flow.arrivals)
        senders = (r for r, one in enumerate(flows) for flow in one if rank in flow.to)
        return LaunchMap(
            ranges=tuple(ranges),
            base=base,
            first_slot=base + starts[rank][first] - before[rank],
            own=sizes[rank],
            ordered=self.ordered,
            receivers=tuple(dict.fromkeys(peer for flow in flows[rank] for peer in flow.to)),
            senders=tuple(dict.fromkeys(senders)),
        )


@cache
def tracked_schedule(name: str, ranks: int, *, free: bool = False) -> TrackedSchedule:
    """Return the reduce-scatter of an algorithm for hardware that tracks tiles.

    More than two contributions to a tile are ordered, unless a rank sends on what arrives, or the
    order is ``free``.

    Raises
    ------
    InputError
        The algorithm is not known, or the hardware cannot run it; see :class:`TrackedSchedule`.
    """
    schedule = expanded(algorithm(name, "collective").schedule("reduce-scatter", ranks))
    flows = [flow for one in schedule.flows[0] for flow in one]
    passes_on = any(flow.arrivals and flow.to for flow in flows)
    ordered = not free and not passes_on and any(flow.contributions > 2 for flow in flows)
    return TrackedSchedule(schedule, ordered)


def _starts(flows: Sequence[Flow], sizes: Sequence[int]) -> dict[int, int]:
    """Workgroups of a rank before each owner's chunk."""
    starts, before = dict[int, int](), 0
    for flow in flows:
        starts[flow.chunk.owner] = before
        before += sizes[flow.chunk.owner]
    return starts


def _require(schedule: Expanded, ordered: bool) -> None:
    """Refuse a schedule that is not one launch of kernels which dispatch the chunks in turn."""
    name, ranks = schedule.name, schedule.ranks
    if len(schedule.flows) > 1 or not schedule.reduces[0]:
        raise InputError("collective", f"{name} is not a single stage that adds")
    if schedule.parts > 1 or schedule.multicasts or schedule.merges:
        raise InputError("collective", f"{name} cuts chunks, or needs a switch that copies or adds")
    for rank, flows in enumerate(schedule.flows[0]):
        made = [flow.chunk.owner for flow in flows if flow.own]
        if made != [scattered(rank, step, ranks) for step in range(ranks)] or len(flows) > ranks:
            problem = "its ranks do not make the chunks in turn, each rank its own one last"
            raise InputError("collective", f"{name}: {problem}")
        if any(len(flow.to) > 1 for flow in flows):
            raise InputError("collective", f"{name} sends a chunk to several ranks")
        tracked = [flow.arrivals > 0 for flow in flows]
        if tracked != sorted(tracked):
            problem = "a chunk leaves as it is stored behind one that gets contributions"
            raise InputError("collective", f"{name}: {problem}")
        if ordered and any(flow.arrivals and flow.to for flow in flows):
            raise InputError("collective", f"{name} sends on what arrives, which has no order")
