from collections import Counter
from dataclasses import replace

import pytest

from rtl.dma.engine import DmaEngine
from rtl.interface.encodings import Granularity
from rtl.parameters import T3Parameters
from tests.support.dma_engine_bench import (
    channel_number,
    command_entry,
    simulate,
)

SMALL = T3Parameters(contexts=1, channels=4, system_channels=4, interleave_atoms=8)
SINGLE = T3Parameters(contexts=1, channels=4, system_channels=4, interleave_atoms=8, dma_walkers=1)
NARROW = replace(SMALL, workgroup_bits=4, sets=8)


READY = {
    "command": 0,
    "dispatch_index": 1,
    "wavefront": 0,
    "start": 64,
    "outer_edge": 0,
    "inner_edge": 0,
    "last": 1,
}


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not {}"):
        DmaEngine({})
    with pytest.raises(ValueError, match="dma_walkers must be at most 16, not 32"):
        T3Parameters(contexts=1, dma_walkers=32)
    with pytest.raises(ValueError, match="dma_walkers must be a power of two, not 3"):
        T3Parameters(contexts=1, dma_walkers=3)


@pytest.mark.parametrize("outer_edge", [0, 1])
@pytest.mark.parametrize("inner_edge", [0, 1])
def test_workgroup_tile(outer_edge, inner_edge):
    """Each atom of the tile is sent once, with the wavefront that wrote it, in segments cut at the
    interleave.
    """
    outer_extent, inner_extent = 3 if outer_edge else 4, 10 if inner_edge else 16

    async def bench(engine):
        ready = READY | {"start": 67, "outer_edge": outer_edge, "inner_edge": inner_edge}
        segments = await engine.walk(ready=ready)
        got = [pair for segment in segments for pair in segment.atoms]
        expected = {
            67 + 100 * row + index: (row // 2) * 2 + index // 8
            for row in range(outer_extent)
            for index in range(inner_extent)
        }
        assert len(got) == len(expected)
        assert dict(got) == expected
        for segment in segments:
            assert len({atom // 8 for atom, _ in segment.atoms}) == 1

    simulate(SMALL, [command_entry()], bench)


@pytest.mark.parametrize(
    ("wavefront", "outer_edge", "inner_edge", "shape"),
    [
        (0, 0, 0, (2, 8)),
        (3, 0, 0, (2, 8)),
        (3, 1, 0, (1, 8)),
        (1, 0, 1, (2, 2)),
        (3, 1, 1, (1, 2)),
        (5, 0, 0, (0, 0)),
    ],
)
def test_wavefront_tile(wavefront, outer_edge, inner_edge, shape):
    async def bench(engine):
        ready = READY | {"wavefront": wavefront, "outer_edge": outer_edge, "inner_edge": inner_edge}
        segments = await engine.walk(ready=ready)
        got = [pair for segment in segments for pair in segment.atoms]
        outer_extent, inner_extent = shape
        assert sorted(got) == [
            (64 + 100 * row + index, wavefront)
            for row in range(outer_extent)
            for index in range(inner_extent)
        ]

    simulate(SMALL, [command_entry(granularity=Granularity.WAVEFRONT)], bench)


def test_copy():
    """A copy has the command's rows and run, and no slot."""

    async def bench(engine):
        segments = await engine.walk(copy={"command": 1, "start": 0})
        assert not any(segment.slot for segment in segments)
        got = [pair for segment in segments for pair in segment.atoms]
        assert sorted(got) == sorted(
            (7 * row + index, 0) for row in range(3) for index in range(20)
        )

    copy = command_entry(
        outer_extent=3, inner_extent=20, stride=7, granularity=Granularity.WAVEFRONT
    )
    simulate(SMALL, [command_entry(), copy], bench, slot_offset=50)


@pytest.mark.parametrize(
    ("p", "dispatch_index", "slot_offset", "slot"),
    [
        pytest.param(SMALL, 7, 0, 7, id="no offset"),
        pytest.param(SMALL, 7, 30, 37, id="offset"),
        pytest.param(SMALL, 0xFFFF, 1, 0, id="wrap"),
        pytest.param(SMALL, 37, (1 << 17) - 30, 7, id="negative"),
        pytest.param(SMALL, 5, 1 << 16, 5, id="offset of all indices"),
        pytest.param(SMALL, 0xFFFF, 0xFFFF, 0xFFFE, id="largest"),
        pytest.param(NARROW, 15, 5, 4, id="wrap of four bits"),
    ],
)
@pytest.mark.parametrize("granularity", Granularity)
def test_slot(p, dispatch_index, slot_offset, slot, granularity):
    """The tile's slot at the receivers is its dispatch index plus the offset of its range."""

    async def bench(engine):
        ready = READY | {"dispatch_index": dispatch_index}
        segments = await engine.walk(ready=ready, limit=2**p.credit_limit_bits - 1)
        assert {segment.slot for segment in segments} == {slot}

    simulate(p, [command_entry(granularity=granularity)], bench, slot_offset=slot_offset)


@pytest.mark.parametrize(
    ("granularity", "wavefront"), [(Granularity.WAVEFRONT, 3), (Granularity.WORKGROUP, 0)]
)
def test_a_report_has_the_dispatch_index(granularity, wavefront):
    """A report of a tile outside its region names the tile as this GPU does, not by its slot."""

    async def bench(engine):
        ready = READY | {"dispatch_index": 9, "wavefront": wavefront}
        assert await engine.walk(ready=ready) == []
        assert set(engine.errors) == {(9, wavefront)}

    regions = [{"enable": 1, "base": 0, "limit": 8}] * SMALL.regions
    command = command_entry(granularity=granularity)
    simulate(SMALL, [command], bench, regions=regions, slot_offset=30)


BASE, LIMIT = 67, 300
"""Ends of a region; neither is at the end of a granule."""


@pytest.mark.parametrize("p", [SMALL, SINGLE], ids=["four walkers", "one walker"])
@pytest.mark.parametrize(
    ("start", "run", "expected"),
    [
        pytest.param(BASE, 5, [67], id="to the granule's end"),
        pytest.param(BASE - 1, 6, [], id="an atom before the region"),
        pytest.param(BASE - 1, 14, [72], id="an atom before the region, and on"),
        pytest.param(LIMIT - 4, 4, [296], id="to the region's end"),
        pytest.param(LIMIT - 4, 5, [], id="an atom beyond the region"),
        pytest.param(LIMIT - 6, 6, [294, 296], id="over a granule's end to the region's"),
        pytest.param(LIMIT - 6, 10, [294], id="over the region's end and the granule's"),
        pytest.param(LIMIT, 4, [], id="behind the region"),
        pytest.param(2**35 - 4, 12, [], id="over the end of the space"),
        pytest.param(0, 12, [], id="at the beginning of the space"),
    ],
)
def test_what_is_outside_the_region_stays(p, start, run, expected):
    """Whole segments are dropped; the rest of the tile leaves, and the command ends."""

    async def bench(engine):
        for number, enabled in enumerate([expected, []]):
            segments = await engine.walk(copy={"command": number, "start": start})
            assert [segment.atoms[0][0] for segment in segments] == enabled
            left = sum(len(segment.atoms) for segment in segments)
            assert set(engine.errors) == (set() if left == run else {(0, 0)})
            engine.errors.clear()
        assert (await engine.cycle(ready=READY | {"start": LIMIT}))[0] == ["ready"]

    shape = {"outer_extent": 1, "inner_extent": run}
    regions = [{"enable": enable, "base": BASE, "limit": LIMIT} for enable in (1, 0)]
    commands = [command_entry(**shape, region=number) for number in range(2)]
    simulate(p, commands, bench, regions=regions, slot_offset=30)


def test_rows_outside_the_region():
    """Rows outside the region hold up no other walker, although all rows lie in one channel."""

    async def bench(engine):
        await engine.cycle(ready=READY | {"start": 0})
        await engine.prepare()
        events = [await engine.cycle() for _ in range(3)]
        rows = [[segment.atoms[0][0] // 120 for segment in sent] for _, sent in events]
        assert rows == [[2], [4], [3]]
        assert (await engine.cycle(ready=READY))[0] == ["ready"]

    command = command_entry(outer_extent=6, inner_extent=1, stride=120)
    regions = [{"enable": 1, "base": 240, "limit": 500}] * SMALL.regions
    simulate(SMALL, [command], bench, regions=regions)


def test_a_command_keeps_its_region():
    """The command is that of the cycle after it was taken, whatever the table has later."""

    async def bench(engine):
        others = [{"enable": 1, "base": 0, "limit": 8}] * SMALL.regions
        whole = engine.regions
        engine.set_regions(others)
        await engine.cycle(ready=READY | {"start": 0})
        engine.set_regions(whole)
        await engine.cycle()
        engine.set_regions(others)
        assert len(await engine.rest()) == 4 * 3

    simulate(SMALL, [command_entry(inner_extent=17)], bench)


def test_full_rate_over_commands():
    """The engine makes one segment per cycle and walker, with three cycles between two commands."""

    async def bench(engine):
        events = []
        for _ in range(60):
            taken, segments = await engine.cycle(ready=READY)
            events.append("t" if taken else str(len(segments)) if segments else "-")
        assert "".join(events) == ("t--" + "1" * 10) * 4 + "t--11111"

    simulate(SINGLE, [command_entry()], bench)


@pytest.mark.parametrize(("rows", "pattern"), [(8, "44"), (7, "43"), (3, "3"), (1, "1")])
def test_four_rows_in_a_cycle(rows, pattern):
    """With rows in different channels, as many segments leave in a cycle as there are walkers or
    rows.
    """

    async def bench(engine):
        for _ in range(2):
            taken, _ = await engine.cycle(ready=READY | {"start": 0})
            assert taken
            await engine.prepare()
            for count in pattern:
                assert len((await engine.cycle())[1]) == int(count)

    command = command_entry(outer_extent=rows, inner_extent=8, stride=8, wave_outer_extent=rows)
    simulate(SMALL, [command], bench)


def test_rows_in_one_channel():
    """The lowest walker goes first."""

    async def bench(engine):
        segments = await engine.walk(ready=READY | {"start": 0})
        assert [segment.atoms[0][0] // 120 for segment in segments] == [0, 4, 1, 5, 2, 3]

    command = command_entry(outer_extent=6, inner_extent=1, stride=120)
    simulate(SMALL, [command], bench)


@pytest.mark.parametrize("walkers", [1, 2, 4, pytest.param(16, marks=pytest.mark.verify)])
def test_wavefront_of_each_row(walkers):
    """Tiles of any height are right, even below the number of walkers or not a multiple of it."""
    heights = [0, 1, 2, 3, 4, 5, 7, 16, 17]
    p = T3Parameters(
        contexts=1,
        channels=4,
        system_channels=4,
        dma_walkers=walkers,
        commands=len(heights),
        wavefronts=8,
    )

    async def bench(engine):
        for number, height in enumerate(heights):
            segments = await engine.walk(ready=READY | {"start": 0, "command": number})
            found = sorted(pair for segment in segments for pair in segment.atoms)
            assert found == [
                (100 * row, 2 * (row // height) % p.wavefronts if height else 0)
                for row in range(39)
            ]

    commands = [
        command_entry(outer_extent=39, inner_extent=1, wave_outer_extent=height)
        for height in heights
    ]
    simulate(p, commands, bench)


MANY = 0x8008
"""Extent that a counter with one bit too few would take for eight."""


def test_extents_of_every_width():
    """A walk skips as many members as the lower bits require, with the right wavefront."""
    shapes = [
        {"outer_extent": 1, "inner_extent": MANY},
        {"outer_extent": MANY, "inner_extent": 1},
        {"outer_extent": 64, "inner_extent": 1, "wave_outer_extent": MANY},
    ]

    async def bench(engine):
        for command in range(len(shapes)):
            await engine.cycle(ready=READY | {"command": command})
            await engine.prepare()
            for _ in range(20):
                assert (await engine.cycle())[1]
            await engine.cycle(aborting=True)

    simulate(SMALL, [command_entry(**{"stride": 0} | shape) for shape in shapes], bench)


def test_the_longest_row():
    """The engine walks the longest row to its last atom, in granules of 8,192."""
    p = T3Parameters(contexts=1, channels=4, system_channels=4, interleave_atoms=8192)

    async def bench(engine):
        segments = await engine.walk(ready=READY | {"start": 8191})
        lengths = [len(segment.atoms) for segment in segments]
        assert lengths == [1, *[8192] * 7, 0xFFFF - 7 * 8192 - 1]

    simulate(p, [command_entry(outer_extent=1, inner_extent=0xFFFF, wave_inner_log2=15)], bench)


def test_wavefronts_of_the_largest_tiles():
    """The second wavefront, above or beside the first, has the rest of the tile; no wavefront
    follows it."""
    shapes = [
        {"outer_extent": MANY, "inner_extent": 1, "wave_outer_extent": MANY - 8},
        {"inner_extent": MANY, "outer_extent": 1, "wave_inner_log2": 15, "waves_inner_log2": 3},
    ]
    plain = {"waves_inner_log2": 0, "granularity": Granularity.WAVEFRONT}

    async def bench(engine):
        for command in range(len(shapes)):
            for wavefront in (1, 2, 3, 6, 7):
                ready = READY | {"command": command, "wavefront": wavefront}
                segments = await engine.walk(ready=ready)
                atoms = sum(len(segment.atoms) for segment in segments)
                assert atoms == (8 if wavefront == 1 else 0)

    simulate(SMALL, [command_entry(**plain | shape) for shape in shapes], bench)


def test_empty_command_is_over_at_once():
    async def bench(engine):
        for command in range(2):
            for _ in range(3):
                assert await engine.cycle(ready=READY | {"command": command}) == (["ready"], [])
                await engine.prepare()
        assert (await engine.cycle(ready=READY | {"command": 2}))[0] == ["ready"]
        await engine.prepare()
        assert (await engine.cycle())[1]

    empty = [command_entry(outer_extent=0), command_entry(inner_extent=0), command_entry()]
    simulate(SMALL, empty, bench)


@pytest.mark.parametrize("dispatch_index", [0, 10, 255, 65535])
def test_ready_waits_for_the_limit_of_its_range(dispatch_index):
    async def bench(engine):
        ready = READY | {"dispatch_index": dispatch_index, "command": 2}
        for limit in (0, dispatch_index):
            assert (await engine.cycle(ready=ready, limit=limit))[0] == []
        for limit in (dispatch_index + 1, 131071):
            assert (await engine.cycle(ready=ready, limit=limit))[0] == ["ready"]
            await engine.prepare()
            await engine.rest()
        # A copy does not wait.
        taken, _ = await engine.cycle(ready=ready, copy={"command": 0, "start": 0}, limit=0)
        assert taken == ["copy"]

    simulate(SMALL, [command_entry()], bench)


def test_turns():
    async def bench(engine):
        async def taken(**offers):
            (source,), _ = await engine.cycle(**offers)
            await engine.prepare()
            return source

        both = {"ready": READY | {"command": 0}, "copy": {"command": 0, "start": 0}}
        got = [await taken(**both) for _ in range(5)]
        assert got == ["ready", "copy", "ready", "copy", "ready"]
        got = [await taken(limit=0, **both) for _ in range(3)]
        assert got == ["copy"] * 3
        assert await taken(**both) == "ready"

    simulate(SMALL, [command_entry(outer_extent=0)], bench)


def test_full_lane_stops_the_walk():
    async def bench(engine):
        await engine.cycle(ready=READY)
        await engine.prepare()
        first = channel_number(SINGLE, READY["start"])
        lanes_ready = [int(lane != first) for lane in range(4)]
        for _ in range(5):
            assert (await engine.cycle(lanes_ready=lanes_ready))[1] == []
        assert (await engine.cycle())[1]

    simulate(SINGLE, [command_entry()], bench)


def test_full_lane_stops_only_the_walkers_that_want_it():
    """An offered segment stays, also if a lower walker has one, too."""

    async def bench(engine):
        async def rows(lane_1):
            _, segments = await engine.cycle(lanes_ready=[1, lane_1, 1, 1])
            return [segment.atoms[0][0] // 8 for segment in segments]

        await engine.cycle(ready=READY | {"start": 0})
        await engine.prepare()
        # Rows 0 to 7 lie in channels 0, 1, 2, 3, 1, 0, 3 and 2.
        assert [await rows(0) for _ in range(4)] == [[0, 2, 3], [7, 6], [], []]
        assert [await rows(1) for _ in range(2)] == [[1], [5, 4]]
        assert (await engine.cycle(ready=READY))[0] == ["ready"]

    command = command_entry(outer_extent=8, inner_extent=8, stride=8)
    simulate(SMALL, [command], bench)


@pytest.mark.parametrize("begun", range(5))
def test_abort(begun):
    """An abort drops the current command and the offer in any state; then new ones run."""
    command = command_entry(outer_extent=8, inner_extent=8, stride=8)

    async def bench(engine):
        await engine.cycle(ready=READY | {"start": 0})
        for _ in range(begun):
            await engine.cycle(lanes_ready=[1, 0, 1, 1])
        for _ in range(3):
            _, segments = await engine.cycle(
                ready=READY, copy={"command": 0, "start": 8}, aborting=True
            )
            assert not segments
        assert await engine.cycle() == ([], [])
        segments = await engine.walk(ready=READY | {"start": 0})
        assert sorted(atom for segment in segments for atom, _ in segment.atoms) == [*range(64)]

    simulate(SMALL, [command], bench)


def test_samples_make_up_the_whole():
    """Tops that each serve some channels send every atom exactly once between them."""
    whole = Counter()
    for first in range(0, 8, 2):
        p = T3Parameters(contexts=1, channels=2, system_channels=8, first_channel=first)

        async def bench(engine):
            for segment in await engine.walk(ready=READY):
                whole.update(atom for atom, _ in segment.atoms)

        simulate(p, [command_entry(outer_extent=20, inner_extent=40)], bench)
    assert whole == {64 + 100 * row + index: 1 for row in range(20) for index in range(40)}
