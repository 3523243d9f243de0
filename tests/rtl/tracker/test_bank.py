import random
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters
from tb.tracker_bank.events import end, update
from tests.support.tracker_bank_bench import GEOMETRIES, SMALL, simulate

WIDER = replace(SMALL, tile_atom_bits=3)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_is_cleared_after_reset(name):
    p = GEOMETRIES[name]
    seen = simulate(p, [update()])
    assert seen.clearing == list(range(p.sets // p.banks))
    assert seen.accepted == [p.sets // p.banks + 1]


def test_updates_that_come_together():
    # Counts follow each other in one entry without a pause, to exactly what the markers announce.
    counts = [5, 1, 7, 2]
    events = [update(atom=90 - count, count=count) for count in counts]
    seen = simulate(WIDER, [*events, *[end(tile_atoms=5, total=3)] * 3])
    first = seen.accepted[0]
    assert seen.accepted == list(range(first, first + 7))
    assert seen.completions == [(first + 6 + 4, (0, 0, 83, 0, 0))]
    assert not seen.errors


def test_count_of_a_end_of_tile_does_not_matter():
    event = end(tile_atoms=2) | {"count": 9}
    seen = simulate(SMALL, [event, update(count=2)])
    assert len(seen.completions) == 1


@pytest.mark.parametrize("position", range(7))
def test_completes_at_the_last_event(position):
    events = [update(atom=atom) for atom in (7, 3, 9, 5, 4, 8)]
    events.insert(
        position, end(tile_atoms=6, outer_edge=position & 1, inner_edge=position >> 1 & 1)
    )
    seen = simulate(WIDER, events)
    first = seen.accepted[0]
    assert seen.accepted == list(range(first, first + 7))
    completion = (0, 0, 3, position & 1, position >> 1 & 1)
    assert seen.completions == [(first + 6 + 4, completion)]


@pytest.mark.parametrize("positions", list(combinations(range(6), 2)))
@pytest.mark.parametrize("distance", [0, 3])
def test_a_tile_of_two_contributions_waits_for_both(positions, distance):
    """Each marker may come before the atoms that it announces and after them."""
    events = [update(atom=atom) for atom in (7, 3, 9, 5)]
    for position, tile_atoms in zip(positions, (3, 1), strict=True):
        events.insert(position, end(tile_atoms=tile_atoms, total=2))
    gap = [update(dispatch_index=1 + index, atom=1) for index in range(distance)]
    seen = simulate(SMALL, [one for event in events for one in (event, *gap)])
    last = seen.accepted[5 * (1 + distance)]
    assert seen.completions == [(last + 4, (0, 0, 3, 0, 0))]
    assert not seen.errors


@pytest.mark.parametrize(
    "shares",
    [(1, 1, 1), (1, 2), (2, 1), (3,)],
    ids=lambda shares: "+".join(map(str, shares)),
)
def test_shares_add_up(shares):
    """A marker counts as often as it has shares; only the last one completes the tile."""
    events = [end(tile_atoms=0, shares=count, total=3) for count in shares]
    seen = simulate(SMALL, [update(atom=4), *events[:-1], events[-1] | {"tile_atoms": 1}])
    assert seen.completions == [(seen.accepted[-1] + 4, (0, 0, 4, 0, 0))]
    assert not seen.errors


def test_the_total_of_the_first_marker_counts():
    events = [end(tile_atoms=0, total=2), update(atom=4), end(total=1)]
    seen = simulate(SMALL, events)
    assert [completion for _, completion in seen.completions] == [(0, 0, 4, 0, 0)]
    assert not seen.errors


@pytest.mark.parametrize("total", [1, 2])
def test_a_tile_without_atoms_has_no_start(total):
    """It starts at all ones, with the edges of its last marker."""
    marker = end(tile_atoms=0, outer_edge=1, total=total)
    seen = simulate(SMALL, [marker] * (total - 1) + [marker | {"inner_edge": 1, "outer_edge": 0}])
    top = (1 << SMALL.atom_address_bits) - 1
    assert seen.completions == [(seen.accepted[-1] + 4, (0, 0, top, 0, 1))]
    assert not seen.errors


def test_a_contribution_without_atoms():
    """It has a share like any other."""
    for events in (
        [end(tile_atoms=0, total=2), end(total=2), update(atom=5)],
        [update(atom=5), end(total=2), end(tile_atoms=0, total=2)],
    ):
        seen = simulate(SMALL, events)
        assert seen.completions == [(seen.accepted[-1] + 4, (0, 0, 5, 0, 0))]


def test_one_event_per_cycle_in_one_set():
    # Two tiles of a set in turn, then in pairs: each event reads the last one's result.
    order = [0, 4, 0, 4, 0, 0, 4, 4]
    events = [
        update(dispatch_index=dispatch_index, atom=10 + index)
        for index, dispatch_index in enumerate(order)
    ]
    events += [end(dispatch_index=4, tile_atoms=4), end(dispatch_index=0, tile_atoms=4)]
    seen = simulate(WIDER, events)
    first = seen.accepted[0]
    assert seen.accepted == list(range(first, first + 10))
    assert seen.completions == [(first + 12, (4, 0, 11, 0, 0)), (first + 13, (0, 0, 10, 0, 0))]


def test_wavefronts_of_a_dispatch_index_are_tiles_of_their_own():
    events = [update(wavefront=1, atom=5), update(wavefront=7, atom=6)]
    events += [end(wavefront=7), end(wavefront=1)]
    seen = simulate(SMALL, events)
    assert [completion for _, completion in seen.completions] == [
        (0, 7, 6, 0, 0),
        (0, 1, 5, 0, 0),
    ]


@pytest.mark.parametrize("distance", range(4))
def test_set_fills_up_at_any_distance(distance):
    # The ways that the events just ahead have taken are not given twice; other sets fill the gaps.
    gap = [update(dispatch_index=1 + 4 * index, atom=index) for index in range(distance)]
    p = T3Parameters(contexts=1, sets=4, ways=3, tile_atom_bits=2)
    tiles = [0, 4, 8, 12]
    events = [
        e
        for dispatch_index in tiles
        for e in (update(dispatch_index, atom=dispatch_index + 1), *gap)
    ]
    events += [end(dispatch_index) for dispatch_index in tiles]
    seen = simulate(p, events)
    full = [(dispatch_index, wavefront) for _, code, dispatch_index, wavefront in seen.errors]
    assert (12, 0) in full and (0, 0) not in full
    completed = [completion[0] for _, completion in seen.completions]
    assert completed == [0, 4, 8]


@pytest.mark.parametrize("distance", range(4))
def test_freed_way_is_free_at_any_distance(distance):
    # A full set: the completion of one tile frees a way for another at once.
    p = T3Parameters(contexts=1, sets=4, ways=2, tile_atom_bits=2)
    gap = [update(dispatch_index=1, atom=1)] * distance
    events = [update(0, atom=3), update(4, atom=4), end(0), *gap, update(8, atom=8), end(8), end(4)]
    seen = simulate(p, events)
    assert not seen.errors
    assert [completion[:3] for _, completion in seen.completions] == [
        (0, 0, 3),
        (8, 0, 8),
        (4, 0, 4),
    ]


@pytest.mark.parametrize("distance", range(4))
def test_tile_again_at_any_distance_after_its_completion(distance):
    gap = [update(dispatch_index=1, atom=1)] * distance
    again = [update(atom=90), *gap, end(tile_atoms=2, inner_edge=1), *gap, update(atom=80)]
    seen = simulate(SMALL, [update(atom=5), end(tile_atoms=1), *gap, *again])
    assert [completion for _, completion in seen.completions] == [
        (0, 0, 5, 0, 0),
        (0, 0, 80, 0, 1),
    ]
    assert not seen.errors


@pytest.mark.parametrize("distance", range(4))
def test_refused_tile_comes_again_at_any_distance(distance):
    p = T3Parameters(contexts=1, sets=4, ways=1, tile_atom_bits=2)
    gap = [update(dispatch_index=1, atom=1)] * distance
    events = [update(0), update(4), *gap, update(4), *gap, end(0), *gap, update(4, atom=6), end(4)]
    seen = simulate(p, events)
    assert [code for _, code, _, _ in seen.errors] == [ErrorCode.SET_FULL] * 2
    assert [completion[:3] for _, completion in seen.completions] == [(0, 0, 100), (4, 0, 6)]


def test_freed_entry_starts_anew():
    events = [update(atom=5), end(tile_atoms=1)]
    # The same tile again, at once: neither count, end, edges nor start of the first one are left.
    events += [update(atom=90), update(atom=80), end(tile_atoms=2, inner_edge=1)]
    seen = simulate(SMALL, events)
    assert [completion for _, completion in seen.completions] == [
        (0, 0, 5, 0, 0),
        (0, 0, 80, 0, 1),
    ]
    assert not seen.errors


def test_highest_address_as_start():
    top = (1 << SMALL.atom_address_bits) - 1
    seen = simulate(SMALL, [update(atom=top), end()])
    assert seen.completions[0][1] == (0, 0, top, 0, 0)


@pytest.mark.parametrize(
    ("events", "codes"),
    [
        ([end(shares=0)], [ErrorCode.NO_SHARE]),
        ([update(), end(shares=0), end()], [ErrorCode.NO_SHARE]),
        ([end(tile_atoms=2), end(shares=0)], [ErrorCode.NO_SHARE]),
        ([end(tile_atoms=2), end(tile_atoms=3)], [ErrorCode.OVERRUN]),
        ([end(tile_atoms=2), end(tile_atoms=0)], [ErrorCode.OVERRUN]),
        ([end(shares=2)], [ErrorCode.OVERRUN]),
        ([end(shares=3, total=2)], [ErrorCode.OVERRUN]),
        ([end(total=0)], [ErrorCode.OVERRUN]),
        ([end(total=3), end(shares=3, total=3)], [ErrorCode.OVERRUN]),
        ([update(), update(), end(tile_atoms=0, total=2), end(total=2)], [ErrorCode.OVERRUN]),
        ([update(), end(tile_atoms=0)], [ErrorCode.OVERRUN]),
        ([end(tile_atoms=0, total=2)] + [update()] * 16, [ErrorCode.COUNT_OVERFLOW]),
        ([update()] * 15 + [end(total=2), update(count=2)], [ErrorCode.COUNT_OVERFLOW]),
        ([end(total=2), update(count=15), update(count=2)], [ErrorCode.COUNT_OVERFLOW]),
        ([update(), update(), end()], [ErrorCode.OVERRUN]),
        ([update()] * 16, [ErrorCode.COUNT_OVERFLOW]),
        ([update()] * 15 + [end(tile_atoms=3)], [ErrorCode.OVERRUN]),
        ([update(count=15), update()], [ErrorCode.COUNT_OVERFLOW]),
        ([update(count=8), update(count=8)], [ErrorCode.COUNT_OVERFLOW]),
        ([update(count=15), update(count=15)], [ErrorCode.COUNT_OVERFLOW]),
        ([end(tile_atoms=3), update(count=15), update(count=3)], [ErrorCode.OVERRUN]),
        ([end(tile_atoms=3), update(count=2), update(count=2)], [ErrorCode.OVERRUN]),
        ([update(0), update(4), update(8)], [ErrorCode.SET_FULL]),
        ([update(0), update(4), end(8, shares=0)], [ErrorCode.SET_FULL]),
        ([update(0), update(4), update(1), update(0, wavefront=1)], [ErrorCode.SET_FULL]),
    ],
)
def test_errors(events, codes):
    seen = simulate(SMALL, events)
    assert [code for _, code, _, _ in seen.errors] == codes
    assert seen.errors[0][0] in [cycle + 3 for cycle in seen.accepted]


@pytest.mark.parametrize(
    "failing",
    [[update()] * 16, [update(), update(), end()], [end(tile_atoms=2), end()]],
    ids=["overflow", "overrun", "shares"],
)
def test_entry_is_freed_by_an_error(failing):
    seen = simulate(SMALL, [*failing, update(4), update(8, atom=5), end(8)])
    assert len(seen.errors) == 1
    assert [completion for _, completion in seen.completions] == [(8, 0, 5, 0, 0)]


def test_a_marker_without_a_share_leaves_the_entry():
    events = [end(tile_atoms=2, outer_edge=1), end(shares=0), update(atom=9), update(atom=8)]
    seen = simulate(SMALL, events)
    assert [completion for _, completion in seen.completions] == [(0, 0, 8, 1, 0)]


def test_as_many_updates_as_a_bank_counts():
    """The updates of all contributions, each of the most atoms, may come before their markers."""
    most, total = (1 << SMALL.tile_atom_bits) - 1, (1 << SMALL.share_bits) - 1
    marker = end(tile_atoms=most, total=total)
    updates = [update(atom=9)] * (most * total)
    for events in ([*updates, *[marker] * total], [*[marker] * total, *updates]):
        seen = simulate(SMALL, events)
        assert [completion for _, completion in seen.completions] == [(0, 0, 9, 0, 0)]
        assert not seen.errors


def test_waits_while_completions_wait():
    p = T3Parameters(contexts=1, sets=16, ways=2, tile_atom_bits=2)
    events = [
        event
        for dispatch_index in range(12)
        for event in (update(dispatch_index), end(dispatch_index))
    ]
    seen = simulate(p, events, take=lambda cycle: cycle >= 60)
    # Four completions end the space; four events are in flight by then, half of them ends.
    assert 8 <= sum(cycle < 60 for cycle in seen.accepted) <= 13
    assert [completion[0] for _, completion in seen.completions] == list(range(12))


@pytest.mark.parametrize("name", GEOMETRIES)
def test_clear(name):
    p = GEOMETRIES[name]
    rows = p.sets // p.banks
    strobe = rows + 7
    # One event has its entry when the strobe comes, one is in the update stage and completes in
    # it; the three behind it and the one that was chosen in that cycle are lost.
    offers = {strobe + offset for offset in (-6, -3, -2, -1, 0, 1, rows + 7, rows + 8)}
    events = [update(atom=7), end(), *[end(), update()] * 2, update(atom=5), end()]
    seen = simulate(p, events, offer=offers.__contains__, clear={strobe})
    assert seen.accepted == sorted(offers)
    # The walk begins when the last one is out, and writes a row two cycles after it reads it.
    assert seen.clearing == [*range(rows), *range(strobe + 1, strobe + 5 + rows)]
    assert [completion for _, completion in seen.completions] == [(0, 0, 7, 0, 0), (0, 0, 5, 0, 0)]
    assert not seen.errors


def test_clear_again_while_clearing():
    seen = simulate(SMALL, [], clear={2}, cycles=12)
    # The walk of this clear follows the clearing after the reset.
    assert seen.clearing == list(range(4 + 4 + 3))


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *(("one-entry", 1), ("banks-4", 2), ("reference", 3)),
        *(pytest.param(*run, marks=pytest.mark.verify) for run in (("banks-1", 2), ("banks-2", 3))),
    ],
)
def test_random(name, most):
    """Tiles of up to ``most`` contributions, with too many or too few updates and markers."""
    p = GEOMETRIES[name]
    seed = 1000 * most + len(name)
    print("seed", seed)
    rng = random.Random(seed)
    # Dispatch indices of this bank, in few sets, so that these overflow.
    dispatch_indices = [
        p.banks * k for k in range(0, 3 * p.sets // p.banks + 3, max(p.sets // 4, 1))
    ]
    events = []
    open_tiles = []
    while len(events) < 1500:
        if len(open_tiles) < min(p.ways + 1, 4):
            tile = rng.choice(dispatch_indices), rng.randrange(2)
            edges = {"outer_edge": rng.randrange(2), "inner_edge": rng.randrange(2)}
            total = left = rng.randint(1, most)
            ends = []
            while left > 0:
                # Seldom with no share, or with one that the tile does not have.
                shares = rng.choice([0, min(left + 1, 3), *[*range(1, left + 1)] * 4])
                fields = {"tile_atoms": rng.randrange(4), "shares": shares, "total": total}
                ends.append(end(*tile, **fields, **edges))
                left -= shares
            missing = sum(one["tile_atoms"] for one in ends) + rng.choice([0, 0, 0, 0, 1])
            open_tiles.append(ends)
            while missing:
                count = rng.randint(1, min(missing, 15))
                missing -= count
                atom = rng.randrange(1 << p.atom_address_bits)
                open_tiles[-1].append(update(*tile, atom=atom, count=count))
            rng.shuffle(open_tiles[-1])
        tile = rng.choice(open_tiles)
        for _ in range(min(rng.randint(1, 4), len(tile))):
            events.append(tile.pop())
        if not tile:
            open_tiles.remove(tile)
    offers = [rng.random() < 0.85 for _ in range(20000)]
    takes = [rng.random() < (0.9 if cycle // 64 % 2 else 0.1) for cycle in range(20000)]
    seen = simulate(
        p,
        events,
        offer=offers.__getitem__,
        take=takes.__getitem__,
    )
    assert len(seen.accepted) == len(events)
    assert len(seen.completions) > 20
    codes = Counter(code for _, code, _, _ in seen.errors)
    assert codes[ErrorCode.NO_SHARE]
    assert codes[ErrorCode.OVERRUN]
    if name != "reference":
        assert codes[ErrorCode.SET_FULL]
