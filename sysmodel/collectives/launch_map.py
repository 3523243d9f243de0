"""Launch maps: a collective as ways of the tiles that one kernel makes, and of those that arrive.

Hardware that tracks tiles runs a collective in one launch. A *slot* is a receiver's number of a
tile. The kernel's tiles have the slots of their dispatch indices, and tiles that only arrive have
slots of their own. A tile without arrivals that does not stay leaves as the kernel stores it. Any
other tile becomes complete in the memory of the rank, and is sent, or kept, or both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from sysmodel.lib.errors import InputError
from sysmodel.lib.neighbours import scattered

from .check import check
from .registry import algorithm
from .schedule import Chunk, Expanded, Flow, Operation, expanded

__all__ = ["LaunchMap", "MappedRange", "TrackedSchedule", "tracked_schedule"]


@dataclass(frozen=True)
class MappedRange:
    """Slots that follow each other, and whose tiles go the same way: of workgroups in dispatch
    order, or of tiles that only arrive.

    Parameters
    ----------
    workgroups : int
        Number of the slots.
    shares : int
        Contributions that make a tile complete here; 0 if the kernel's stores leave.
    to : tuple of int
        Ranks to which the stores or the complete tiles go; without a rank, the tiles stay.
    slot_offset : int
        Difference between a tile's slot at its receivers and its slot here.
    replaces : bool
        What leaves is stored at the receivers. Otherwise it is added there.
    place : int
        Place in the receivers' memory for what leaves; 0: at the address that it has here.
    """

    workgroups: int
    shares: int
    to: tuple[int, ...]
    slot_offset: int
    replaces: bool = False
    place: int = 0

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
        Ranges in the order of their slots, from slot 0 on.
    base : int
        First dispatch index.
    workgroups : int
        Number of workgroups of the kernel.
    first_chunk : int
        Owner of the chunk that the kernel makes first; the others follow in turn.
    first_slot : int
        First slot whose tile becomes complete here.
    ordered : bool
        Each arriving contribution has a slot of its own, with one share.
    chunks : tuple of (int, int)
        Owners of the chunks whose tiles the slots name, in the order of the slots, and their
        numbers of slots: the last one names the chunk's last tile, and a chunk with more slots
        than tiles is named over and over.
    receivers, senders : tuple of int
        Ranks to which this one sends, in the order of slots, and those that send to it.
    """

    ranges: tuple[MappedRange, ...]
    base: int
    workgroups: int
    first_chunk: int
    first_slot: int
    ordered: bool
    chunks: tuple[tuple[int, int], ...]
    receivers: tuple[int, ...]
    senders: tuple[int, ...]

    @property
    def peers(self) -> tuple[int, ...]:
        """Ranks with which this one exchanges packets, the receivers first."""
        return tuple(dict.fromkeys(self.receivers + self.senders))

    @property
    def dispatch_end(self) -> int:
        """End of the dispatch indices."""
        return self.base + self.workgroups

    @property
    def end(self) -> int:
        """End of the slots."""
        return sum(one.workgroups for one in self.ranges)


_Starts = Mapping[tuple[int, Chunk], int]


class _Tiles(NamedTuple):
    """Tiles of a chunk that have consecutive slots at a rank.

    Parameters
    ----------
    key : (int, Chunk)
        Stage in which they become complete, and chunk.
    earlier : int
        Slots in front of them, with the kernel's earlier contributions to the same tiles.
    shares : int
        Contributions; 0 if the stores leave.
    sent : (int, Chunk)
        Their key at the receivers.
    position : int
        Position of their flow in the order of its stage.
    """

    key: tuple[int, Chunk]
    size: int
    earlier: int
    made: bool
    shares: int
    to: tuple[int, ...]
    sent: tuple[int, Chunk]
    replaces: bool
    place: int
    position: int


@dataclass(frozen=True)
class TrackedSchedule:
    """Collective that hardware runs which tracks tiles.

    Parameters
    ----------
    schedule : Expanded
        Schedule of a single stage, or of one that adds and one that stores the sums elsewhere.
    ordered : bool
        Number every arriving contribution by the position of its chunk in its sender's order. With
        a credit window of at most a chunk, the contributions to a tile are then added in this
        order. Otherwise all contributions to a tile have its slot, and are added as they arrive.
    accumulate : bool
        The first contribution to a tile is added to what the memory holds.
    splits : int
        Times that a kernel makes each chunk, to add up: the splits of a split-K GEMM. Every time
        but the last one has slots of its own. With a credit window of at most a chunk, these are
        added in turn; what arrives may come before or behind the last one.

    Raises
    ------
    InputError
        The schedule has other stages or cuts chunks; its ranks make their chunks in another order
        than kernels do; tiles go to several ranks that give them different slots; it sends arrivals
        on that are to be ``ordered``; it does not add, and is to ``accumulate``; or contributions
        of several splits are to be ``ordered``, to ``accumulate``, or are those of a send.
    """

    schedule: Expanded
    ordered: bool = False
    accumulate: bool = False
    splits: int = 1

    def __post_init__(self) -> None:
        check(self.schedule)
        _require(self.schedule, self.ordered)
        if self.accumulate and self.schedule.operation != "reduce-scatter":
            problem = f"True is not allowed with {self.schedule.operation}"
            raise InputError("accumulate", f"{problem}; allowed: with reduce-scatter")
        if self.splits > 1 and (self.ordered or self.accumulate or not self.is_cut):
            problem = f"{self.splits} is not allowed with ordered or accumulated sums, or a send"
            raise InputError("split_k", f"{problem}; allowed: 1")
        for rank in range(self.schedule.ranks if self._by_owner else 1):
            self.map([self.splits] * self.schedule.ranks, rank)

    @property
    def has_fixed_sums(self) -> bool:
        """True if the sums do not depend on the order in which contributions arrive.

        What the memory holds where a sum is kept is one more term. Elsewhere it holds zeros.
        """
        flows = (flow for one in self.schedule.flows[0] for flow in one if flow.arrivals)
        return self.ordered or all(
            flow.contributions + (self.accumulate and flow.keeps) <= 2
            and (self.splits == 1 or not flow.own)
            for flow in flows
        )

    @property
    def places(self) -> int:
        """Places of a rank's memory: the output, and with an all-to-all one for each source."""
        exchanges = self.schedule.operation == "all-to-all"
        return 1 + self.schedule.ranks if exchanges else 1

    def place_of(self, chunk: Chunk, rank: int) -> int:
        """Find the place at which a chunk is kept: what a rank made itself is in its output."""
        return 0 if self.places == 1 or chunk.source == rank else chunk.source + 1

    def map(self, sizes: Sequence[int], rank: int) -> LaunchMap:
        """Map the launch of a rank.

        Parameters
        ----------
        sizes : sequence of int
            Workgroups of the chunk of each owner.

        Raises
        ------
        InputError
            Tiles go to several ranks that give them different slots.
        """
        made = [one // self.splits for one in sizes]
        of_rank = self._tiles(rank, made)
        receivers = tuple(dict.fromkeys(peer for one in of_rank for peer in one.to))
        ranks = range(self.schedule.ranks) if self.ordered else (rank, *receivers)
        tiles = {one: self._tiles(one, made) for one in ranks}
        starts = {one: _starts(listed) for one, listed in tiles.items()}
        base, before = self._base(rank, tiles, starts)
        ranges = list[MappedRange]()
        for one in of_rank:
            offset = self._offset(one, rank, starts)
            mapped = MappedRange(one.size, one.shares, one.to, offset, one.replaces, one.place)
            earlier = [MappedRange(one.earlier, 1, (), 0)] if one.earlier else []
            for each in (*earlier, mapped):
                longer = ranges[-1].joined(each) if ranges else None
                ranges[-1:] = [longer] if longer else [*ranges[-1:], each]
        first = next(one for one in of_rank if one.made)
        shift = base - starts[rank][first.key] + first.earlier
        ranges[0] = replace(ranges[0], workgroups=ranges[0].workgroups + shift)
        tracked = next(one for one in of_rank if one.shares)
        return LaunchMap(
            ranges=tuple(ranges),
            base=base,
            workgroups=sum(one.earlier + one.size for one in of_rank if one.made),
            first_chunk=first.key[1].owner if self.is_cut else 0,
            first_slot=shift + starts[rank][tracked.key] - tracked.earlier - before,
            ordered=self.ordered,
            chunks=self._chunks(rank, of_rank, sum(one.workgroups for one in ranges), sizes),
            receivers=receivers,
            senders=self._senders(rank),
        )

    def _chunks(
        self, rank: int, tiles: Sequence[_Tiles], end: int, sizes: Sequence[int]
    ) -> tuple[tuple[int, int], ...]:
        """Owners of the chunks whose tiles a rank's slots name, and their numbers of slots."""
        if self.ordered:
            return ((rank, end),)
        if not self.is_cut:
            return tuple(enumerate(sizes)) * len(tiles)
        return tuple((one.key[1].owner, one.earlier + one.size) for one in tiles)

    def _senders(self, rank: int) -> tuple[int, ...]:
        """Ranks that send to a rank."""
        stages = range(len(self.schedule.flows))
        sends = (one for stage in stages for one in self.schedule.sends(stage))
        return tuple(dict.fromkeys(sender for sender, peer, _ in sends if peer == rank))

    @property
    def is_cut(self) -> bool:
        """True if the output is cut into chunks; a send has one."""
        return self.schedule.operation != "send"

    @property
    def _by_owner(self) -> bool:
        """True if all ranks number the chunks alike, by owner, since tiles go to several ranks."""
        last = self.schedule.flows[-1]
        return len(self.schedule.flows) == 1 and any(len(f.to) > 1 for one in last for f in one)

    def _tiles(self, rank: int, sizes: Sequence[int]) -> list[_Tiles]:
        """List the tiles of a rank in the order of their slots: those of the kernel, in front of
        those that only arrive, or all by owner."""
        first, *rest = (one[rank] for one in self.schedule.flows)
        passed_on = {flow.chunk: flow for one in rest for flow in one if flow.own}
        flows = [(0, at, flow) for at, flow in enumerate(first) if flow.own]
        flows += [(0, at, flow) for at, flow in enumerate(first) if not flow.own]
        flows += [(1, at, flow) for one in rest for at, flow in enumerate(one) if not flow.own]
        if self._by_owner:
            flows.sort(key=lambda one: one[2].chunk.owner)
        return [
            self._tiles_of(stage, position, flow, passed_on.get(flow.chunk), sizes)
            for stage, position, flow in flows
        ]

    def _tiles_of(
        self, stage: int, position: int, flow: Flow, next_flow: Flow | None, sizes: Sequence[int]
    ) -> _Tiles:
        """Describe the tiles of a flow, and of the ``next_flow`` to which its result belongs."""
        chunk = flow.chunk
        to = next_flow.to if next_flow else flow.to
        leaves = flow.own and not flow.arrivals and not flow.keeps and self.splits == 1
        size = sizes[chunk.owner] if self.is_cut else sum(sizes)
        exchanges = self.schedule.operation == "all-to-all" and flow.own and flow.to
        return _Tiles(
            key=(stage, chunk),
            size=size,
            earlier=size * (self.splits - 1) if flow.own else 0,
            made=flow.own,
            shares=0 if leaves else 1 if self.ordered else flow.contributions,
            to=to,
            sent=(1 if next_flow else stage, chunk),
            replaces=bool(to) and (next_flow is not None or not self.schedule.reduces[stage]),
            place=1 + chunk.source if exchanges else 0,
            position=position,
        )

    def _base(
        self, rank: int, tiles: Mapping[int, Sequence[_Tiles]], starts: Mapping[int, _Starts]
    ) -> tuple[int, int]:
        """Find the first dispatch index of a rank, and the slots of the contributions in front of
        those of its own tiles; no slot is negative."""
        if not self.ordered:
            first = next(one for one in tiles[rank] if one.made)
            return starts[rank][first.key] - first.earlier, 0
        before = {
            one: listed[-1].size * self.schedule.flows[0][one][-1].arrivals
            for one, listed in tiles.items()
        }
        fronts = (before[one] - starts[one][listed[-1].key] for one, listed in tiles.items())
        return max(0, *fronts), before[rank]

    def _offset(self, one: _Tiles, rank: int, starts: Mapping[int, _Starts]) -> int:
        """Difference between the slots of tiles at their receivers and at a rank.

        Raises
        ------
        InputError
            The receivers give the tiles different slots.
        """
        offsets = set[int]()
        for peer in one.to:
            offset = starts[peer][one.sent] - starts[rank][one.key]
            if self.ordered:
                arrivals = self.schedule.flows[0][peer][-1].arrivals
                offset -= (arrivals - one.position) * one.size
            offsets.add(offset)
        if len(offsets) > 1:
            problem = "tiles go to several ranks, which give them different slots"
            raise InputError("collective", f"{self.schedule.name}: {problem}")
        return offsets.pop() if offsets else 0


@cache
def tracked_schedule(
    name: str,
    ranks: int,
    operation: Operation = "reduce-scatter",
    *,
    free: bool = False,
    accumulate: bool = False,
    splits: int = 1,
) -> TrackedSchedule:
    """Return an algorithm's way to do an operation on hardware that tracks tiles.

    More than two terms of a sum are ordered, unless a rank sends on what arrives, or the order is
    ``free``. What the memory holds is a term if the launch is to ``accumulate``. With several
    ``splits``, the order is free.

    Raises
    ------
    InputError
        The algorithm is not known, or the hardware cannot run it; see :class:`TrackedSchedule`.
    """
    schedule = expanded(algorithm(name, "collective").schedule(operation, ranks))
    flows = [flow for one in schedule.flows[0] for flow in one if flow.arrivals]
    passes_on = len(schedule.flows) > 1 or any(flow.to for flow in flows)
    terms = max((flow.contributions for flow in flows), default=0) + accumulate
    ordered = schedule.reduces[0] and not free and not passes_on and terms > 2
    return TrackedSchedule(schedule, ordered and splits == 1, accumulate, splits)


def _starts(tiles: Sequence[_Tiles]) -> _Starts:
    """First slot of each chunk's tiles, behind those of earlier contributions."""
    starts, before = dict[tuple[int, Chunk], int](), 0
    for one in tiles:
        starts[one.key] = before + one.earlier
        before += one.earlier + one.size
    return starts


def _require(schedule: Expanded, ordered: bool) -> None:
    """Refuse a schedule that is not one launch of kernels which dispatch the chunks in turn."""
    name, ranks = schedule.name, schedule.ranks
    if schedule.reduces not in ((True,), (False,), (True, False)):
        problem = "is not a single stage, or one that adds and one that stores the sums"
        raise InputError("collective", f"{name} {problem}")
    if schedule.parts > 1 or schedule.multicasts or schedule.merges:
        raise InputError("collective", f"{name} cuts chunks, or needs a switch that copies or adds")
    for rank, flows in enumerate(schedule.flows[0]):
        made = [flow.chunk.owner for flow in flows if flow.own]
        if made != [(made[0] + step) % ranks for step in range(len(made))]:
            raise InputError("collective", f"{name}: its ranks do not make the chunks in turn")
        if schedule.reduces[0]:
            _require_sums(schedule, rank, made)
        tracked = [flow.arrivals > 0 or flow.keeps for flow in flows if flow.own]
        if tracked != sorted(tracked):
            problem = "a chunk leaves as it is stored behind one that becomes complete"
            raise InputError("collective", f"{name}: {problem}")
        if ordered and any(flow.arrivals and flow.to for flow in flows):
            raise InputError("collective", f"{name} sends on what arrives, which has no order")


def _require_sums(schedule: Expanded, rank: int, made: Sequence[int]) -> None:
    """Refuse sums to which a rank does not contribute in turn, its own one last, and results that
    it sends to some ranks before they are complete."""
    name, ranks = schedule.name, schedule.ranks
    flows, *rest = (one[rank] for one in schedule.flows)
    if len(flows) > ranks or made != [scattered(rank, step, ranks) for step in range(ranks)]:
        problem = "its ranks do not make the chunks in turn, each rank its own one last"
        raise InputError("collective", f"{name}: {problem}")
    if any(len(flow.to) > 1 for flow in flows):
        raise InputError("collective", f"{name} sends a chunk to several ranks")
    passed_on = {flow.chunk for one in rest for flow in one if flow.own}
    if rest and passed_on != {flow.chunk for flow in flows if flow.keeps and not flow.to}:
        problem = "its second stage does not send on all that its first one keeps"
        raise InputError("collective", f"{name}: {problem}")
