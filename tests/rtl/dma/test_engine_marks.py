"""Markers that the engine sends after the tiles of a command that marks them."""

from collections import Counter

import pytest

from rtl.interface.encodings import Granularity, PacketKind
from rtl.parameters import T3Parameters
from tests.support.dma_engine_bench import SentMarker, command_entry, simulate

SMALL = T3Parameters(contexts=1, channels=4, system_channels=4, interleave_atoms=8)
TOP = 2**SMALL.atom_address_bits - 1  # start of a tile without atoms

READY = {
    "command": 0,
    "dispatch_index": 1,
    "wavefront": 0,
    "start": 64,
    "outer_edge": 0,
    "inner_edge": 0,
    "last": 1,
}


def marking(**fields):
    """Return a command of four wavefronts that marks its tiles."""
    return command_entry(**{"marks": 1, "waves": [4] * 4} | fields)


def split(sent):
    """Return the segments with atoms and the markers, which come last."""
    markers = [one for one in sent if isinstance(one, SentMarker)]
    assert not any(isinstance(one, SentMarker) for one in sent[: len(sent) - len(markers)])
    return sent[: len(sent) - len(markers)], markers


def atoms_by_wavefront(segments):
    return Counter(wavefront for segment in segments for _, wavefront in segment.atoms)


@pytest.mark.parametrize("walkers", [1, 4])
@pytest.mark.parametrize("outer_edge", [0, 1])
@pytest.mark.parametrize("inner_edge", [0, 1])
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="2 x 2 wavefronts"),
        pytest.param({"waves": [4, 3, 2, 1]}, id="waves of the edges"),
        pytest.param({"waves": [8] * 4}, id="wavefronts without atoms"),
        pytest.param({"wave_outer_extent": 0, "waves": [2] * 4}, id="all rows"),
        pytest.param({"wave_outer_extent": 1, "waves": [8] * 4}, id="a row each"),
        pytest.param({"wave_inner_log2": 15, "waves_inner_log2": 0}, id="whole rows"),
        pytest.param({"waves_inner_log2": 2, "waves": [8] * 4}, id="rows cut in four"),
    ],
)
def test_each_wavefront_of_a_workgroup_has_a_marker(fields, outer_edge, inner_edge, walkers):
    """It announces the atoms that were sent with the number of the wavefront, and the edges."""
    p = T3Parameters(
        contexts=1, channels=4, system_channels=4, interleave_atoms=8, dma_walkers=walkers
    )
    command = marking(**fields)

    async def bench(engine):
        ready = READY | {"outer_edge": outer_edge, "inner_edge": inner_edge}
        segments, markers = split(await engine.walk(ready=ready))
        waves = command["waves"][2 * inner_edge + outer_edge]
        assert [marker.wavefront for marker in markers] == [*range(waves)]
        found = atoms_by_wavefront(segments)
        for marker in markers:
            assert marker.tile_atoms == found[marker.wavefront]
            assert (marker.outer_edge, marker.inner_edge) == (outer_edge, inner_edge)
            assert marker.slot == 31

    simulate(p, [command], bench, slot_offset=30)


@pytest.mark.parametrize("wavefront", [0, 1, 3, 5])
@pytest.mark.parametrize("edges", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_a_wavefront_command_has_one_marker(wavefront, edges):
    async def bench(engine):
        own = {"wavefront": wavefront, "outer_edge": edges[0], "inner_edge": edges[1]}
        segments, (marker,) = split(await engine.walk(ready=READY | own))
        assert marker.wavefront == wavefront
        assert marker.tile_atoms == atoms_by_wavefront(segments)[wavefront]
        assert (marker.outer_edge, marker.inner_edge) == edges

    simulate(SMALL, [marking(granularity=Granularity.WAVEFRONT)], bench)


@pytest.mark.parametrize("granularity", Granularity)
@pytest.mark.parametrize(
    ("start", "fields"),
    [(TOP, {}), (64, {"outer_extent": 0}), (64, {"inner_extent": 0})],
    ids=["no atoms", "no rows", "no run"],
)
def test_a_tile_without_atoms_has_only_markers(granularity, start, fields):
    """A tile whose start is all ones has no atoms, whatever the geometry of its command."""

    async def bench(engine):
        sent = await engine.walk(ready=READY | {"start": start, "wavefront": 2})
        wavefronts = [2] if granularity == Granularity.WAVEFRONT else [0, 1, 2, 3]
        assert sent == [SentMarker((1 + one) % 4, 1, one, 0, 0, 0) for one in wavefronts]
        assert not engine.errors

    simulate(SMALL, [marking(granularity=granularity, **fields)], bench)


@pytest.mark.parametrize("kind", [PacketKind.UPDATE, PacketKind.STORE])
def test_the_highest_start_of_a_copy_is_an_address(kind):
    """A copy has no markers either, whatever its command, and its stores are not tracked."""

    async def bench(engine):
        segments, markers = split(await engine.walk(copy={"command": 0, "start": TOP}))
        assert not markers and segments  # rows of a wrapped address

    simulate(SMALL, [marking(kind=kind.value)], bench)


@pytest.mark.parametrize("granularity", Granularity)
def test_stores_with_markers_are_tracked(granularity):
    """The bench compares the kind of each segment."""

    async def bench(engine):
        segments, markers = split(await engine.walk(ready=READY))
        assert segments and markers

    simulate(SMALL, [marking(kind=PacketKind.STORE.value, granularity=granularity)], bench)


def test_commands_that_do_not_mark():
    async def bench(engine):
        _, markers = split(await engine.walk(ready=READY))
        assert not markers
        assert await engine.walk(ready=READY | {"start": TOP}) == []

    simulate(SMALL, [marking(marks=0)], bench)


@pytest.mark.parametrize("tile_atom_bits", [4, 10])
def test_atoms_beyond_the_width_of_a_marker(tile_atom_bits):
    p = T3Parameters(
        contexts=1,
        channels=4,
        system_channels=4,
        interleave_atoms=8,
        tile_atom_bits=tile_atom_bits,
        commands=3,
    )
    shapes = [(40, 40), (1, 1029), (1025, 3)]

    async def bench(engine):
        for number, (rows, run) in enumerate(shapes):
            sent = await engine.walk(ready=READY | {"command": number, "start": 0})
            assert sent[-1].tile_atoms == rows * run % 2**tile_atom_bits

    commands = [
        marking(
            outer_extent=rows,
            inner_extent=run,
            stride=2000,
            wave_outer_extent=rows,
            wave_inner_log2=15,
            waves_inner_log2=0,
            waves=[1] * 4,
        )
        for rows, run in shapes
    ]
    simulate(p, commands, bench)


@pytest.mark.parametrize(
    ("granularity", "pattern"),
    [(Granularity.WORKGROUP, "t--" + "---1" * 4), (Granularity.WAVEFRONT, "t---1")],
)
def test_cycles_of_markers(granularity, pattern):
    """Four cycles for each wavefront of a workgroup, two for the one of a wavefront command."""

    async def bench(engine):
        events = []
        for _ in range(2 * len(pattern)):
            taken, segments = await engine.cycle(ready=READY | {"start": TOP})
            events.append("t" if taken else str(len(segments)) if segments else "-")
        assert "".join(events) == 2 * pattern

    simulate(SMALL, [marking(granularity=granularity)], bench)


@pytest.mark.parametrize("waits", [0, 1, 5])
def test_a_full_lane_stops_the_markers(waits):
    """Only the lane of the next marker counts."""

    async def bench(engine):
        await engine.cycle(ready=READY | {"start": TOP})
        await engine.prepare()
        for wavefront in range(4):
            lane = (1 + wavefront) % 4
            for _ in range(3 + waits):
                others = [int(number != lane) for number in range(4)]
                assert (await engine.cycle(lanes_ready=others)) == ([], [])
            only = [int(number == lane) for number in range(4)]
            (marker,) = (await engine.cycle(lanes_ready=only))[1]
            assert (marker.lane, marker.wavefront) == (lane, wavefront)
        assert (await engine.cycle(ready=READY))[0] == ["ready"]

    simulate(SMALL, [marking()], bench)


@pytest.mark.parametrize("begun", range(13))
def test_abort_in_the_markers(begun):
    """An abort drops the markers that are left; the next command has all of its own."""

    async def bench(engine):
        await engine.cycle(ready=READY | {"start": TOP})
        for _ in range(begun):
            await engine.cycle()
        for _ in range(3):
            assert not (await engine.cycle(ready=READY, aborting=True))[1]
        assert await engine.cycle() == ([], [])
        assert engine.idle
        segments, markers = split(await engine.walk(ready=READY))
        assert [marker.tile_atoms for marker in markers] == [16] * 4
        assert sum(atoms_by_wavefront(segments).values()) == 4 * 16

    simulate(SMALL, [marking()], bench)


def test_markers_of_part_of_the_channels():
    """Markers go to the lanes that a top has."""
    for channels in (1, 2, 3):
        p = T3Parameters(contexts=1, channels=channels, system_channels=8, first_channel=2)

        async def bench(engine):
            _, markers = split(await engine.walk(ready=READY))
            assert [marker.wavefront for marker in markers] == [0, 1, 2, 3]

        simulate(p, [marking()], bench)
