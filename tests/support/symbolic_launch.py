"""Symbolic execution of launch maps: sets of ranks in place of values, events in random order."""

import random
from collections.abc import Sequence

from sysmodel.collectives.check import needed_results
from sysmodel.collectives.launch_map import LaunchMap, TrackedSchedule

__all__ = ["SymbolicLaunch", "require_results"]


class SymbolicLaunch:
    """Memories and trackers of all ranks.

    An address is a place, the owner of a chunk and a tile; a value is the set of the ranks whose
    contributions it holds, as bits: those of a further split are above all of the one before. The
    splits of a tile come in turn. ``sizes`` are numbers of tiles.
    """

    def __init__(
        self, maps: Sequence[LaunchMap], sizes: Sequence[int], seed: int = 0, splits: int = 1
    ):
        self.maps, self._sizes, self._draw = maps, sizes, random.Random(seed)
        self._splits = splits
        self._later: dict[tuple, list] = {}
        self.memory = [dict[tuple, int]() for _ in maps]
        self._came = [dict[int, int]() for _ in maps]
        self._address_of = [dict[int, tuple]() for _ in maps]
        self._range_of = [
            [each for each in one.ranges for _ in range(each.workgroups)] for one in maps
        ]

    def run(self) -> None:
        """Run all events: workgroups in any order, packets in any order, tiles as they complete."""
        events = []
        for rank, one in enumerate(self.maps):
            for place, (address, split) in enumerate(self._made(one)):
                value = 1 << rank + split * len(self.maps)
                event = rank, one.base + place, address, value, None
                if split:
                    self._later.setdefault((rank, address), []).append(event)
                else:
                    events.append(event)
        while events:
            at = self._draw.randrange(len(events))
            events[at], events[-1] = events[-1], events[at]
            rank, _, address, _, kind = event = events.pop()
            events += self._happen(*event)
            if kind is None and self._later.get((rank, address)):
                events.append(self._later[rank, address].pop(0))

    def _made(self, one: LaunchMap) -> list[tuple]:
        """Addresses and splits of a kernel's workgroups, in dispatch order."""
        ranks = len(self._sizes)
        order = [(one.first_chunk + step) % ranks for step in range(ranks)]
        tiles = [
            ((0, owner, tile), split)
            for owner in order
            for split in range(self._splits)
            for tile in range(self._sizes[owner])
        ]
        return tiles[: one.workgroups]

    def _happen(self, rank, slot, address, value, replaces):
        """Take a packet, or a workgroup's stores, for which ``replaces`` is None; return new
        events."""
        mapped = self._range_of[rank][slot]
        if replaces is None and not mapped.shares:
            return self._leave(rank, slot, address, value)
        assert self.maps[rank].first_slot <= slot, "the slot is not tracked"
        assert self._address_of[rank].setdefault(slot, address) == address, "two tiles of a slot"
        if not replaces:
            before = self.memory[rank].get(address, 0)
            assert not before & value, "a contribution counts twice"
            value |= before
        self.memory[rank][address] = value
        shares = mapped.shares or int(self.maps[rank].ordered)
        came = self._came[rank][slot] = self._came[rank].get(slot, 0) + 1
        assert came <= shares, "more contributions than shares"
        sends = came == shares and mapped.shares
        return self._leave(rank, slot, address, value) if sends else []

    def _leave(self, rank, slot, address, value):
        mapped = self._range_of[rank][slot]
        place, *tile = address
        there = (mapped.place or place, *tile)
        return [(to, slot + mapped.slot_offset, there, value, mapped.replaces) for to in mapped.to]

    def require_complete(self) -> None:
        """Require that each tracked slot of all ranks has all its contributions."""
        for rank, one in enumerate(self.maps):
            for slot in range(one.first_slot, one.end):
                shares = self._range_of[rank][slot].shares or int(one.ordered)
                assert self._came[rank].get(slot, 0) == shares, (rank, slot)


def require_results(tracked: TrackedSchedule, maps, sizes, seed: int = 0) -> None:
    """Run the maps of a schedule, and require the results of its operation."""
    launch = SymbolicLaunch(maps, sizes, seed, tracked.splits)
    launch.run()
    launch.require_complete()
    for rank in range(len(sizes)):
        for chunk, once in needed_results(tracked.schedule, rank):
            ranks = sum(once << split * len(sizes) for split in range(tracked.splits))
            owners = [chunk.owner] if tracked.is_cut else range(len(sizes))
            for owner in owners:
                for tile in range(sizes[owner]):
                    address = (tracked.place_of(chunk, rank), owner, tile)
                    assert launch.memory[rank].get(address) == ranks, (rank, address)
