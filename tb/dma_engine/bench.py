"""Bench of the DMA engine: commands and copies with lanes that stall, compared with the golden
model in every cycle.
"""

import random
from collections import Counter
from collections.abc import Sequence

import cocotb

from rtl.interface.encodings import Granularity, PacketKind
from tb.cycle import clock_stops, scaled
from tb.dma_engine.driver import INPUTS, LANES, MOST, SEGMENT, SLOTS, Bench, make_dut, start
from tb.dma_engine.tables import (
    NO_ATOM,
    PARAMETERS,
    WHOLE_SPACE,
    long_command,
    random_commands,
    random_copy,
    random_ranges,
    random_ready,
    random_regions,
    wide_commands,
)
from tb.stream import Pace

__all__ = ["make_dut"]

_CYCLES = 4000
_BEGINNINGS = 60
_LONG_WALKS = 20
_LONGEST_WALK = (1 << 16) + 100  # cycles
_LONG = 17000
_END = PacketKind.END.value


@cocotb.test()
async def random_traffic(dut):
    """Random commands agree with the model while launch and admission change."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = await start(dut, rng)
    pace = Pace(rng, ("ready", "copy", *LANES))
    regions = [WHOLE_SPACE] * PARAMETERS.regions
    for cycle in range(scaled(_CYCLES)):
        if cycle % 50 == 0:
            limit = rng.choice([MOST, MOST, rng.randrange(30)])
        if rng.random() < 0.01:
            launch_configuration = {"generation": rng.getrandbits(4)}
            regions, ranges = random_regions(rng), random_ranges(rng)
            bench.configure(random_commands(rng), launch_configuration, regions, ranges)
        acts = pace.acts()
        if bench.ready is None and acts["ready"]:
            bench.ready = random_ready(rng, regions)
        if bench.copy is None and acts["copy"] and rng.random() < 0.3:
            bench.copy = random_copy(rng, regions)
        if rng.random() < 0.02 and bench.ready:
            limit = bench.ready["dispatch_index"] + rng.randrange(2)
        aborting = rng.random() < 0.004
        await bench.cycle([acts[lane] for lane in LANES], limit, aborting=aborting)


@cocotb.test()
async def beginnings_of_any_walk(dut):
    """Geometry and admission are right for values of full width."""
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    for _ in range(scaled(_BEGINNINGS)):
        bench = await start(dut, rng)
        launch_configuration = {"generation": rng.getrandbits(4)}
        tables = random_regions(rng), random_ranges(rng)
        bench.configure(wide_commands(rng), launch_configuration, *tables)
        dispatch_index = rng.randrange(SLOTS)
        for cycle in range(20):
            if cycle == 0 or rng.random() < 0.2:
                bench.ready = bench.ready or random_ready(rng) | {"dispatch_index": dispatch_index}
            near = dispatch_index + rng.choice([0, 1, 1, 1, rng.randrange(-80, 80)])
            limit = min(max(near, 0), MOST)
            if bench.copy is None and rng.random() < 0.05:
                bench.copy = random_copy(rng, commands=wide_commands)
            await bench.cycle([rng.random() < 0.9 for _ in LANES], limit)


async def _walk(bench: Bench) -> list[dict[str, int]]:
    """Return the segments of the offered command, in the order in which they leave."""
    segments = []
    for _ in range(_LONGEST_WALK):
        result = await bench.cycle([True] * len(LANES), MOST)
        for lane, segment in result.segments.items():
            segments.append(dict(zip(SEGMENT.names, segment, strict=True)) | {"lane": lane})
        if not (bench.ready or bench.copy or bench.model.busy):
            await bench.cycle([True] * len(LANES), MOST)  # cycles without progress
            return segments
    raise AssertionError("The walk does not end")


@cocotb.test()
async def long_walks(dut):
    """Walks over many rows, over long rows and over small parts of large tiles end correctly."""
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    for _ in range(scaled(_LONG_WALKS)):
        bench = await start(dut, rng)
        wavefront = rng.randrange(PARAMETERS.wavefronts)
        commands = [long_command(rng, wavefront) for _ in range(PARAMETERS.commands)]
        bench.configure(commands, {})
        bench.ready = random_ready(rng) | {"wavefront": wavefront}
        await _walk(bench)


@cocotb.test()
async def longest_walks(dut):
    """The counters of rows and of atoms in a row run through all their values in long runs of the
    bench.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 4)
    bench = await start(dut, rng)
    most = min(scaled(_LONG), (1 << 16) - 1)
    for outer_extent, inner_extent in ((most, 1), (PARAMETERS.dma_walkers, most)):
        tile = {
            "granularity": Granularity.WORKGROUP.value,
            "outer_extent": outer_extent,
            "outer_extent_edge": outer_extent,
        }
        tile |= {
            "inner_extent": inner_extent,
            "inner_extent_edge": inner_extent,
            "wave_outer_extent": rng.randint(most // 2, most),
        }
        bench.configure(
            [command | tile for command in random_commands(rng)], bench.launch_configuration
        )
        bench.ready = random_ready(rng)
        await _walk(bench)


def _atoms(segments: list[dict[str, int]]) -> list[tuple[int, int, int]]:
    """Return address, wavefront and remote address of every atom, but for markers."""
    wavefronts, atoms = PARAMETERS.wavefronts, 1 << PARAMETERS.atom_address_bits
    return [
        (
            segment["atom"] + index,
            (segment["wavefront"] + ((segment["offset"] + index) >> segment["wave_inner_log2"]))
            % wavefronts,
            (segment["atom"] + index + segment["atom_offset"]) % atoms,
        )
        for segment in segments
        if segment["kind"] != _END
        for index in range(segment["length"])
    ]


def _markers(segments: list[dict[str, int]]) -> list[tuple[int, int, int]]:
    """Return wavefront, lane and content of every marker, which are behind all atoms."""
    markers = [segment for segment in segments if segment["kind"] == _END]
    assert segments[len(segments) - len(markers) :] == markers
    return [(segment["wavefront"], segment["lane"], segment["atom"]) for segment in markers]


def _expected_markers(
    atoms: Sequence[int], edges: dict[str, int], slot: int
) -> list[tuple[int, int, int]]:
    """Return the markers of a tile with so many atoms in its wavefronts."""
    content = edges["outer_edge"] | edges["inner_edge"] << 1 | 1 << 2
    return [
        (wave, (slot + wave) % PARAMETERS.channels, count | content << PARAMETERS.tile_atom_bits)
        for wave, count in enumerate(atoms)
    ]


def _served(atom: int) -> bool:
    """Return whether a lane has the atom's channel, with the upper bits folded onto its bits."""
    p, channel = PARAMETERS, 0
    block = atom // p.interleave_atoms
    while block:
        channel ^= block % p.system_channels
        block //= p.system_channels
    return 0 <= channel - p.first_channel < p.channels


@cocotb.test()
async def every_atom_once(dut):
    """A workgroup's walk, and the walks of its wavefronts together, visit each atom of the tile
    once.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    bench = await start(dut, rng)
    atoms = 1 << PARAMETERS.atom_address_bits
    for _ in range(8):
        minor_log2, run_log2, wave_outer_extent = (
            rng.randrange(2),
            rng.randrange(2, 4),
            rng.randint(1, 3),
        )
        outer_extent, inner_extent = (
            PARAMETERS.wavefronts * wave_outer_extent >> minor_log2,
            1 << minor_log2 + run_log2,
        )
        cut_rows, cut_run = rng.randint(1, outer_extent), rng.randint(1, inner_extent)
        shape = random_commands(rng)[0] | {
            "outer_extent": outer_extent,
            "inner_extent": inner_extent,
            "outer_extent_edge": cut_rows,
            "inner_extent_edge": cut_run,
            "stride": rng.randint(inner_extent, 100),
            "atom_offset": rng.randrange(atoms),
            "wave_outer_extent": wave_outer_extent,
            "wave_inner_log2": run_log2,
            "waves_inner_log2": minor_log2,
            "waves": [PARAMETERS.wavefronts] * 4,
            "marks": 1,
        }
        offset = rng.choice([0, 5, 44, 60, (1 << PARAMETERS.credit_limit_bits) - 7])
        by = [{**shape, "granularity": granularity.value} for granularity in Granularity]
        ranges = [{"command": number, "slot_offset": offset} for number in range(len(by))]
        bench.configure(by, {}, ranges=ranges)
        edges = {"outer_edge": rng.getrandbits(1), "inner_edge": rng.getrandbits(1)}
        outer_extent = cut_rows if edges["outer_edge"] else outer_extent
        inner_extent = cut_run if edges["inner_edge"] else inner_extent
        origin = rng.randrange(atoms // 2)
        expected = [
            (
                atom,
                (column >> run_log2) + (row // wave_outer_extent << minor_log2),
                (atom + shape["atom_offset"]) % atoms,
            )
            for row in range(outer_extent)
            for column in range(inner_extent)
            if _served(atom := origin + row * shape["stride"] + column)
        ]
        of_waves = Counter(
            (column >> run_log2) + (row // wave_outer_extent << minor_log2)
            for row in range(outer_extent)
            for column in range(inner_extent)
        )
        counts = [of_waves[wave] for wave in range(PARAMETERS.wavefronts)]
        markers = _expected_markers(counts, edges, (20 + offset) % SLOTS)
        tile = {"start": origin, "dispatch_index": 20, "last": 1, **edges}
        bench.ready = {**tile, "range": Granularity.WORKGROUP.value, "wavefront": 0}
        segments = await _walk(bench)
        assert sorted(_atoms(segments)) == sorted(expected)
        assert _markers(segments) == markers
        assert all(segment["slot"] == (20 + offset) % SLOTS for segment in segments)
        found = []
        for wavefront in range(PARAMETERS.wavefronts):
            minor, major = wavefront % (1 << minor_log2), wavefront >> minor_log2
            first = origin + (minor << run_log2) + major * wave_outer_extent * shape["stride"]
            bench.ready = {
                **tile,
                "range": Granularity.WAVEFRONT.value,
                "wavefront": wavefront,
                "start": first,
            }
            segments = await _walk(bench)
            found += _atoms(segments)
            assert _markers(segments) == [markers[wavefront]]
        assert sorted(found) == sorted(expected)


@cocotb.test()
async def tiles_without_atoms(dut):
    """A tile whose start is all ones has no segment but its markers, which announce no atom."""
    rng = random.Random(cocotb.RANDOM_SEED + 5)
    bench = await start(dut, rng)
    for granularity in Granularity:
        for waves in (1, 3, PARAMETERS.wavefronts):
            command = {"granularity": granularity.value, "marks": 1, "waves": [waves] * 4}
            command |= {"outer_extent": 9, "outer_extent_edge": 7, "wave_outer_extent": 2}
            bench.configure([one | command for one in random_commands(rng)], {})
            bench.ready = random_ready(rng) | {"start": NO_ATOM, "wavefront": waves - 1}
            edges, slot = bench.ready, bench.ready["dispatch_index"]
            markers = _expected_markers([0] * waves, edges, slot)
            of_tile = markers if granularity is Granularity.WORKGROUP else markers[-1:]
            segments = await _walk(bench)
            assert len(segments) == len(of_tile) and _markers(segments) == of_tile


@cocotb.test()
async def markers_wait_for_their_lane(dut):
    """A marker stays at its lane until the lane takes it, however long this is."""
    rng = random.Random(cocotb.RANDOM_SEED + 6)
    bench = await start(dut, rng)
    command = {"granularity": Granularity.WORKGROUP.value, "marks": 1, "waves": [2] * 4}
    bench.configure([one | command for one in random_commands(rng)], {})
    bench.ready = random_ready(rng) | {"start": NO_ATOM, "dispatch_index": 4}
    for _ in range(50):
        result = await bench.cycle([False, True], MOST)
        assert not result.segments
    assert result.waits
    found = [await bench.cycle([True, False], MOST) for _ in range(20)]
    assert [[*one.segments] for one in found if one.segments] == [[0]]
    found = [await bench.cycle([True, True], MOST) for _ in range(20)]
    assert [[*one.segments] for one in found if one.segments] == [[1]]
    assert not bench.model.busy


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, INPUTS)
