"""Commands that a completion makes ready, and their cycles."""

import random
from itertools import pairwise

import pytest

from rtl.interface.encodings import Action, Granularity
from rtl.parameters import T3Parameters
from rtl.trigger.trigger import Trigger
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device
from tests.support.trigger_bench import (
    SMALL,
    WAVEFRONT,
    WORKGROUP,
    command,
    region_range,
    released,
    simulate,
    tile,
)


def test_is_cleared_after_reset():
    seen = simulate(SMALL, [], [], [tile(0)])
    assert seen.clearing == list(range(8))
    assert seen.taken == [8]


def test_wavefront():
    tiles = [tile(3, 5, 100), tile(3, 1, 50, 1, 1), tile(3, 7, 70)]
    seen = simulate(SMALL, [region_range(2, 5)], [command(WAVEFRONT, 3)], tiles)
    # Taken every second cycle; a command is pushed two cycles later, and visible after three more.
    assert seen.taken == [8, 10, 12]
    assert seen.ready == [
        (13, (0, 3, 5, 100, 0, 0, 0)),
        (15, (0, 3, 1, 50, 1, 1, 0)),
        (17, (0, 3, 7, 70, 0, 0, 1)),
    ]
    assert seen.complete == [(14, 3, 0)]
    # Stored from the cycle after its push on.
    assert [cycle for cycle, empty in enumerate(seen.empty) if not empty] == list(range(11, 18))
    assert seen.tiles == 3


def test_workgroup():
    tiles = [tile(4, 0, 300, 1, 0), tile(4, 3, 200), tile(4, 1, 250, 0, 1)]
    seen = simulate(SMALL, [region_range(2, 5)], [command(WORKGROUP, 3)], tiles)
    # Smallest start, last edges. Taken in 12; LOOKUP 13, TILE 14, GROUP 15, RELEASE 16.
    assert seen.taken == [8, 10, 12]
    assert seen.ready == [(19, (0, 4, 0, 200, 0, 1, 1))]
    assert seen.complete == [(14, 4, 0)]


@pytest.mark.parametrize("group_log2", range(4))
def test_wait_for_a_completion(group_log2):
    """A completion occupies the unit for at most three cycles, and for one more with each command
    that it makes ready; this bounds the time that other contexts' completions wait behind it."""
    tiles = [tile(index) for index in range((1 << group_log2) + 2)]
    seen = simulate(SMALL, [region_range(0, 15)], [command(WORKGROUP, 1, group_log2)], tiles)
    waits = [after - before for before, after in pairwise(seen.taken)]
    assert max(waits) == waits[-1] == 3 + (1 << group_log2)


@pytest.mark.parametrize("granularity", Granularity)
@pytest.mark.parametrize("action", [Action.OWN, Action.REMOTE])
def test_without_dma(granularity, action):
    tiles = [tile(2), tile(2, 1), tile(3), tile(3, 1)]
    seen = simulate(SMALL, [region_range(2, 5, action)], [command(granularity, 2, 1)], tiles)
    assert seen.taken == [8, 10, 12, 14]
    assert seen.complete == [(12, 2, 1), (16, 3, 1)]
    assert not seen.ready
    assert all(seen.empty)


def test_edges_choose_the_number_of_waves():
    tiles = [
        tile(outer_edge + 2 * inner_edge, wavefront, 0, outer_edge, inner_edge)
        for inner_edge in (0, 1)
        for outer_edge in (0, 1)
        for wavefront in range(4)
    ]
    seen = simulate(SMALL, [region_range(0, 7)], [command(WAVEFRONT, [4, 1, 3, 2])], tiles)
    by_dispatch_index = {dispatch_index: [] for dispatch_index in range(4)}
    for _, dispatch_index, *_, last in released(seen):
        by_dispatch_index[dispatch_index].append(last)
    # Counting begins anew behind the last one.
    assert by_dispatch_index == {0: [0, 0, 0, 1], 1: [1, 1, 1, 1], 2: [0, 0, 1, 0], 3: [0, 1, 0, 1]}


@pytest.mark.parametrize("waves", [1, 2, 8, 14, 15])
def test_the_last_of_so_many_waves(waves):
    """The command of a workgroup's last tile is marked, and no other, whatever its edges say."""
    for granularity in Granularity:
        tiles = [tile(1, wavefront % 8) for wavefront in range(waves)] * 2
        seen = simulate(SMALL, [region_range(0, 7)], [command(granularity, waves)], tiles)
        lasts = [last for *_, last in released(seen)]
        of_one = [1] if granularity == WORKGROUP else [0] * (waves - 1) + [1]
        assert lasts == of_one * 2
        assert len(seen.complete) == 2


def test_idle_of_one_tile():
    """Off from the cycle after it was taken until its command has left; or, without a command,
    until it was looked up and counted."""
    for action, granularity, last in ((Action.DMA, WAVEFRONT, 13), (Action.DMA, WORKGROUP, 15)):
        seen = simulate(SMALL, [region_range(0, 7, action)], [command(granularity, 1)], [tile(3)])
        assert seen.taken == [8] and [cycle for cycle, _ in seen.ready] == [last]
        assert [cycle for cycle, idle in enumerate(seen.idle) if not idle] == [
            *range(8),
            *range(9, last + 1),
        ]
    seen = simulate(SMALL, [region_range(0, 7, Action.OWN)], [command(WAVEFRONT, 1)], [tile(3)])
    assert [cycle for cycle, idle in enumerate(seen.idle) if not idle] == [*range(8), 9, 10]


def test_no_waves():
    # A workgroup that writes nothing is never complete, not even when its count wraps.
    tiles = [tile(1, wavefront % 8) for wavefront in range(16)]
    seen = simulate(SMALL, [region_range(0, 7)], [command(WAVEFRONT, 0)], tiles)
    assert not seen.complete
    assert [last for *_, last in released(seen)] == [0] * 16


def test_groups():
    # Groups of four from dispatch index 1 on: 1 to 4, and the short 5 to 6. Completed in any order.
    order = [3, 6, 1, 4, 5, 2]
    tiles = [
        tile(dispatch_index, 0, 10 * dispatch_index, dispatch_index & 1, dispatch_index >> 1 & 1)
        for dispatch_index in order
    ]
    seen = simulate(SMALL, [region_range(1, 6)], [command(WORKGROUP, 1, 2)], tiles)
    want = [
        (0, dispatch_index, 0, 10 * dispatch_index, dispatch_index & 1, dispatch_index >> 1 & 1, 1)
        for dispatch_index in range(1, 7)
    ]
    assert released(seen) == [*want[4:], *want[:4]]
    # Each is taken in TILE of the one before it, and waits one cycle for a group that is not
    # complete, and one more for each command of one that is: LOOKUP of the last in 26, TILE in 27.
    assert seen.taken == [8, 10, 13, 16, 19, 22]
    first = 27 + 2 + 3
    assert [cycle for cycle, _ in seen.ready][2:] == [first, first + 1, first + 2, first + 3]
    assert [(dispatch_index, own) for _, dispatch_index, own in seen.complete] == [
        (dispatch_index, 0) for dispatch_index in order
    ]


def test_a_group_of_128():
    """The commands of the largest group leave in order when the last one is complete."""
    p = T3Parameters(contexts=1, credit_window=256, sets=4, command_depth=128)
    order = [*range(5, 133)]
    random.Random(1).shuffle(order)
    tiles = [tile(dispatch_index, 0, dispatch_index) for dispatch_index in order]
    seen = simulate(p, [region_range(5, 200)], [command(WORKGROUP, 1, 7)], tiles)
    assert [dispatch_index for _, dispatch_index, *_ in released(seen)] == [*range(5, 133)]
    assert seen.ready[0][0] > seen.taken[-1]


@pytest.mark.parametrize("rest", [127, 128, 129, 256, 0x8000, 0xFFFF])
def test_a_group_far_from_the_end_of_its_range(rest):
    """The distance is not short, whatever its lowest bits are."""
    first = 0xFFFF - rest
    tiles = [tile(first), tile(first + 1)]
    seen = simulate(SMALL, [region_range(first, 0xFFFF)], [command(WORKGROUP, 1, 1)], tiles)
    assert [dispatch_index for _, dispatch_index, *_ in released(seen)] == [first, first + 1]
    assert seen.ready[0][0] > seen.taken[1]


def test_ranges_of_wide_dispatch_indices():
    """Each bound is compared with all its bits; the last dispatch index is in a range like any."""
    bounds = (0, 0x7FFF), (0x8000, 0xFFFE), (0xFFFF, 0xFFFF)
    ranges = [region_range(*bound, command=index) for index, bound in enumerate(bounds)]
    edges = [0, 1, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF]
    for order in (ranges, ranges[::-1]):
        seen = simulate(SMALL, order, [command(WAVEFRONT, 1)] * 3, [tile(edge) for edge in edges])
        found = [(order[number]["command"], index) for number, index, *_ in released(seen)]
        assert found == list(zip([0] * 4 + [1] * 3 + [2], edges, strict=True))


def test_commands_wait_in_order():
    tiles = [tile(dispatch_index, 0, dispatch_index) for dispatch_index in range(8)]
    seen = simulate(
        SMALL,
        [region_range(0, 7)],
        [command(WAVEFRONT, 1)],
        tiles,
        take=lambda cycle: cycle >= 40,
    )
    assert [dispatch_index for _, dispatch_index, *_ in released(seen)] == list(range(8))
    # The buffer gives one in every cycle.
    assert [cycle for cycle, _ in seen.ready] == list(range(40, 48))
    assert seen.empty.index(0) == 11
    assert seen.empty[11:48] == [0] * 37
    assert all(seen.empty[48:])


def test_lowest_range_with_its_command():
    ranges = [
        region_range(0, 7, Action.OWN, 0, enable=0),
        region_range(2, 3, Action.DMA, 1, region=1),
        region_range(0, 5, Action.DMA, 2),
    ]
    commands = [command(WAVEFRONT, 1)] * 3
    tiles = [tile(1), tile(2), tile(3), tile(4)]
    seen = simulate(SMALL, ranges, commands, tiles)
    assert [(number, dispatch_index) for number, dispatch_index, *_ in released(seen)] == [
        (2, 1),
        (1, 2),
        (1, 3),
        (2, 4),
    ]


def test_tile_of_no_range_is_dropped():
    # Dispatch index 12 has the table's row of dispatch index 4, which must keep its count.
    tiles = [tile(4, 0), tile(12, 0, 1), tile(12, 1, 1), tile(4, 1)]
    seen = simulate(SMALL, [region_range(0, 7)], [command(WORKGROUP, 2)], tiles)
    assert seen.taken == [8, 10, 12, 14]
    assert released(seen) == [(0, 4, 0, 100, 0, 0, 1)]
    assert seen.complete == [(16, 4, 0)]
    assert seen.tiles == 4


def test_rows_are_used_again():
    tiles = [
        tile(dispatch_index, wavefront, 50 - dispatch_index)
        for dispatch_index in (1, 9, 17)
        for wavefront in (0, 1)
    ]
    seen = simulate(SMALL, [region_range(0, 31)], [command(WORKGROUP, 2)], tiles)
    assert released(seen) == [
        (0, dispatch_index, 0, 50 - dispatch_index, 0, 0, 1) for dispatch_index in (1, 9, 17)
    ]


def test_clear():
    # Half a workgroup, and half a group, are forgotten; a ready command stays.
    p = T3Parameters(contexts=1, credit_window=4, sets=4, command_depth=8)
    ranges = [region_range(0, 1), region_range(2, 3, command=1)]
    commands = [command(WORKGROUP, 1, 1), command(WAVEFRONT, 2)]
    tiles = [tile(0), tile(2), tile(1), tile(2), tile(0), tile(2)]
    offers = {4, 8, 20, 24, 27, 34}
    seen = simulate(
        p,
        ranges,
        commands,
        tiles,
        offer=offers.__contains__,
        take=lambda cycle: cycle >= 16,
        clear={11},
    )
    assert seen.taken == sorted(offers)
    assert seen.clearing == [*range(4), *range(12, 16)]
    assert [
        (number, dispatch_index, last) for number, dispatch_index, *_, last in released(seen)
    ] == [
        (1, 2, 0),
        (1, 2, 0),
        (0, 0, 1),
        (0, 1, 1),
        (1, 2, 1),
    ]
    assert [dispatch_index for _, dispatch_index, _ in seen.complete] == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("strobe", "taken", "dispatch_indices"),
    [
        (8, [8, 17, 19], [1, 2]),  # the first is taken in the strobe's cycle
        (9, [8, 18, 20], [1, 2]),  # the completion is looked up
        (10, [8, 10, 19], [0, 2]),  # the first completion is processed, and the second taken
    ],
)
def test_clear_wins_over_a_completion(strobe, taken, dispatch_indices):
    tiles = [tile(0), tile(1), tile(2)]
    seen = simulate(SMALL, [region_range(0, 7)], [command(WAVEFRONT, 1)], tiles, clear={strobe})
    assert seen.taken == taken
    assert [dispatch_index for _, dispatch_index, *_ in released(seen)] == dispatch_indices


def test_clear_forgets_a_completion_that_waits_for_a_group():
    # Taken in 10 while the first one is in TILE; GROUP in 11 is the strobe's cycle.
    tiles = [tile(0), tile(1), tile(2), tile(3)]
    seen = simulate(SMALL, [region_range(0, 7)], [command(WORKGROUP, 1, 1)], tiles, clear={11})
    assert seen.taken == [8, 10, 20, 22]
    assert [dispatch_index for _, dispatch_index, *_ in released(seen)] == [2, 3]


def test_map_of_the_lookup_counts():
    """The map of the lookup's own cycle counts, not that of the cycle before or after."""
    dut = device(Trigger, SMALL)
    complete, ready = [], []

    async def bench(ctx):
        off = region_range(0, 0, enable=0)
        maps = [
            dut.maps.shape().const(
                {
                    "ranges": [region_range(0, 7, action, command=1), *[off] * 3],
                    "commands": [{}, command(WAVEFRONT, 1), {}, {}],
                }
            )
            for action in (Action.NONE, Action.DMA)
        ]
        for cycle in range(20):
            ctx.set(dut.maps, maps[cycle == 9])
            ctx.set(dut.completions.valid, cycle == 8)
            ctx.set(dut.completions.p, {"dispatch_index": 5})
            ctx.set(dut.ready.ready, 1)
            complete.append(ctx.get(dut.complete))
            ready.append(ctx.get(dut.ready.valid))
            await ctx.tick()

    simulate_device(dut, bench)
    assert [cycle for cycle, strobe in enumerate(complete) if strobe] == [10]
    assert [cycle for cycle, valid in enumerate(ready) if valid] == [13]
