"""Launch maps: the tile of every contribution finds its slot at the receiver."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from sysmodel.collectives.launch_map import TrackedSchedule, tracked_schedule
from sysmodel.collectives.registry import algorithms
from sysmodel.collectives.schedule import expanded
from sysmodel.lib.errors import InputError
from tests.support.symbolic_launch import require_results
from tests.support.tracked_operations import OPERATIONS

CASES = [("ring", False), ("direct", False), ("direct", True)]


def random_sizes(seed):
    print("seed", seed)
    random = np.random.default_rng(seed)
    return random.integers(1, 6, random.integers(2, 9)).tolist()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("name", "operation"), OPERATIONS)
def test_the_maps_do_the_operation(name, operation, seed):
    """Whatever the order of events, each rank has the results, and each slot its contributions."""
    sizes = random_sizes(seed)
    tracked = tracked_schedule(name, len(sizes), operation)
    found = [tracked.map(sizes, rank) for rank in range(len(sizes))]
    require_results(tracked, found, sizes, seed)
    for one in found:
        assert one.end == sum(each.workgroups for each in one.ranges)
        assert 0 <= one.base <= one.dispatch_end <= one.end


@pytest.mark.parametrize("splits", [2, 3])
@pytest.mark.parametrize(
    ("name", "operation"),
    [one for one in OPERATIONS if one not in (("direct", "all-gather"), ("send", "send"))],
)
def test_splits_of_a_gemm_add_up(name, operation, splits):
    """Every rank gets all splits of what a kernel makes in several splits."""
    sizes = random_sizes(splits)
    tracked = tracked_schedule(name, len(sizes), operation, splits=splits)
    made = [splits * size for size in sizes]
    found = [tracked.map(made, rank) for rank in range(len(sizes))]
    require_results(tracked, found, sizes, splits)
    assert not any(each.to and not each.shares for one in found for each in one.ranges)
    # The sums of several ranks' splits depend on the order; those of one rank do not.
    assert tracked.has_fixed_sums == (operation not in ("reduce-scatter", "all-reduce"))


def test_splits_that_are_refused():
    """The slots of a gather by owner have no place for a rank's earlier splits."""
    with pytest.raises(InputError, match="direct: tiles go to several ranks"):
        tracked_schedule("direct", 3, "all-gather", splits=2)
    with pytest.raises(InputError, match="split_k: 2 is not allowed with ordered or accumulated"):
        tracked_schedule("ring", 3, accumulate=True, splits=2)
    with pytest.raises(InputError, match="split_k: 2 is not allowed with .*, or a send"):
        tracked_schedule("send", 3, "send", splits=2)


def test_a_gather_of_several_steps_is_one_launch():
    """Chunks are numbered alike by all ranks, so that a tile may go to several."""
    tracked = tracked_schedule("halving-doubling", 4, "all-gather")
    sizes = [2, 1, 3, 2]
    require_results(tracked, [tracked.map(sizes, rank) for rank in range(4)], sizes)


def wrong_maps(one, replaces):
    """Yield maps with one error each: a slot, a receiver, a number of shares, a place or, if sums
    are replaced, a kind. Of other packets the first one replaces what the memory holds, in any
    case, and so do those of the own chunk, whose contributions left the next rank at once."""
    for at, each in enumerate(one.ranges):
        changes = [{"workgroups": each.workgroups + 1}]
        if each.shares:
            changes += [{"shares": each.shares + 1}]
        if each.to:
            changes += [
                {"slot_offset": each.slot_offset + 1},
                {"to": ()},
                {"place": each.place + 1},
            ]
        if replaces and each.replaces and each.shares == 1:
            changes += [{"replaces": False}]
        for change in changes:
            yield replace(
                one, ranges=(*one.ranges[:at], replace(each, **change), *one.ranges[at + 1 :])
            )


@pytest.mark.parametrize(("name", "operation"), OPERATIONS)
def test_a_wrong_map_is_found(name, operation):
    """With a changed map of one rank, the ranks do not do the operation."""
    sizes = [2, 3, 2]
    tracked = tracked_schedule(name, 3, operation)
    found = [tracked.map(sizes, rank) for rank in range(3)]
    wrong = list(wrong_maps(found[1], operation == "all-reduce"))
    assert len(wrong) > 5
    for one in wrong:
        with pytest.raises((AssertionError, IndexError)):
            require_results(tracked, [found[0], one, found[2]], sizes)


def maps(name, free, seed):
    """Return the sizes of random chunks, and the map of every rank."""
    print("seed", seed)
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 9, random.integers(3, 9)).tolist()
    tracked = tracked_schedule(name, len(sizes), free=free)
    return sizes, [tracked.map(sizes, rank) for rank in range(len(sizes))]


def placed(one, rank, sizes):
    """Yield each workgroup of a rank in a reduce-scatter: its tile, its dispatch index and its
    range."""
    ranks = len(sizes)
    order = [(rank + 1 + step) % ranks for step in range(ranks)]
    tiles = [(owner, tile) for owner in order for tile in range(sizes[owner])]
    ranges = [each for each in one.ranges for _ in range(each.workgroups)]
    assert len(tiles) == one.workgroups
    for index, (tile, each) in enumerate(zip(tiles, ranges[one.base :], strict=True), one.base):
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
        assert one.first_slot <= slot < one.dispatch_end
        if one.ordered:
            assert count == 1
        else:
            assert count == shares_of[rank, slot]
    for rank, one in enumerate(found):
        # Every slot of the window gets a contribution, so that the oldest one always moves on.
        slots = {slot for to, slot in arrived if to == rank}
        assert slots == set(range(one.first_slot, one.dispatch_end))


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


@pytest.mark.parametrize("name", ["bidirectional", "multicast", "hierarchical", "in-switch"])
def test_other_gathers_are_refused_with_their_name(name):
    with pytest.raises(InputError, match=name):
        tracked_schedule(name, 4, "all-gather")


def test_sums_go_to_one_rank():
    """Behind a direct reduce-scatter, the receivers of a sum would give it different slots."""
    with pytest.raises(InputError, match="direct: tiles go to several ranks, which give them"):
        tracked_schedule("direct", 3, "all-reduce")


def test_arrivals_that_are_sent_on_have_no_order():
    ring = expanded(algorithms()["ring"].schedule("reduce-scatter", 3))
    with pytest.raises(InputError, match="ring sends on what arrives"):
        TrackedSchedule(ring, ordered=True)
