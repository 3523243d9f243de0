"""Launch maps: the tile of every contribution finds its slot at the receiver."""

from collections import Counter

import numpy as np
import pytest

from sysmodel.collectives.launch_map import TrackedSchedule, tracked_schedule
from sysmodel.collectives.registry import algorithms
from sysmodel.collectives.schedule import expanded
from sysmodel.lib.errors import InputError

CASES = [("ring", False), ("direct", False), ("direct", True)]


def maps(name, free, seed):
    """Return the sizes of random chunks, and the map of every rank."""
    print("seed", seed)
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 9, random.integers(3, 9)).tolist()
    tracked = tracked_schedule(name, len(sizes), free=free)
    return sizes, [tracked.map(sizes, rank) for rank in range(len(sizes))]


def placed(one, rank, sizes):
    """Yield each workgroup of a rank: its tile, its dispatch index and its range."""
    ranks = len(sizes)
    order = [(rank + 1 + step) % ranks for step in range(ranks)]
    tiles = [(owner, tile) for owner in order for tile in range(sizes[owner])]
    ranges = [each for each in one.ranges for _ in range(each.workgroups)]
    for index, (tile, each) in enumerate(zip(tiles, ranges, strict=True), one.base):
        yield tile, index, each


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("name", "free"), CASES)
def test_contributions_meet_in_their_slots(name, free, seed):
    """A slot gets contributions to one tile only, as many as its shares, and with its kernel's own
    contribution, if it has one."""
    sizes, found = maps(name, free, seed)
    tile_of, shares_of, arrived = {}, {}, Counter()
    for rank, one in enumerate(found):
        for tile, index, each in placed(one, rank, sizes):
            slots = [(to, index + each.slot_offset) for to in each.to]
            if each.shares:
                shares_of[rank, index] = each.shares
                arrived[rank, index] += 1
                assert tile_of.setdefault((rank, index), tile) == tile
            for slot in slots:
                assert slot[1] >= 0
                arrived[slot] += 1
                assert tile_of.setdefault(slot, tile) == tile
    for (rank, slot), count in arrived.items():
        one = found[rank]
        assert one.first_slot <= slot < one.base + one.workgroups
        if one.ordered:
            assert count == 1
        else:
            assert count == shares_of[rank, slot]
    for rank, one in enumerate(found):
        # Every slot of the window gets a contribution, so that the oldest one always moves on.
        slots = {slot for to, slot in arrived if to == rank}
        assert slots == set(range(one.first_slot, one.base + one.workgroups))


@pytest.mark.parametrize("seed", range(20))
def test_ordered_contributions_are_a_chunk_apart(seed):
    """A window of a chunk admits the contributions to a tile one after the other, in the order in
    which their senders make the chunk."""
    sizes, found = maps("direct", False, seed)
    contributions = {}
    for rank, one in enumerate(found):
        for place, (tile, index, each) in enumerate(placed(one, rank, sizes)):
            slot = index + each.slot_offset
            contributions.setdefault(tile, []).append((slot, place, rank))
    for (owner, _), given in contributions.items():
        slots = [slot for slot, _, _ in sorted(given)]
        assert np.diff(slots).tolist() == [sizes[owner]] * (len(sizes) - 1)
        ranks = [rank for _, _, rank in sorted(given)]
        assert ranks == [(owner - distance) % len(sizes) for distance in range(1, len(sizes) + 1)]


def test_peers_of_the_ring():
    """With two ranks, the only peer receives and sends."""
    two, four = (tracked_schedule("ring", ranks).map([2] * ranks, 0) for ranks in (2, 4))
    assert (two.receivers, two.senders, two.peers) == ((1,), (1,), (1,))
    assert (four.receivers, four.senders, four.peers) == ((3,), (1,), (3, 1))


@pytest.mark.parametrize("name", sorted(set(algorithms()) - {"ring", "direct"}))
def test_other_schedules_are_refused_with_their_name(name):
    with pytest.raises(InputError, match=name):
        tracked_schedule(name, 4)


def test_arrivals_that_are_sent_on_have_no_order():
    ring = expanded(algorithms()["ring"].schedule("reduce-scatter", 3))
    with pytest.raises(InputError, match="ring sends on what arrives"):
        TrackedSchedule(ring, ordered=True)
