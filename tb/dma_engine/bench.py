"""Bench of the DMA engine: commands and copies with lanes that stall, compared with the golden
model in every cycle.
"""

import random
from collections.abc import Sequence

import cocotb

from rtl.dma.engine import DmaEngine
from rtl.interface.configuration import LaunchConfiguration, MapConfiguration
from rtl.interface.encodings import Granularity
from rtl.interface.layouts import Copy, ErrorReport, ReadyCommand, Segment
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.dma_engine.model import Model
from tb.dma_engine.points import StepResult
from tb.dma_engine.tables import (
    PARAMETERS,
    WHOLE_SPACE,
    long_command,
    random_commands,
    random_copy,
    random_ready,
    random_regions,
    wide_commands,
)
from tb.golden import error_report, set_launch_configuration, set_maps
from tb.payload import Fields, flatten
from tb.stream import Pace, StreamChecker, offer

_MAPS = Fields(MapConfiguration(PARAMETERS))
_LAUNCH_CONFIGURATION = Fields(LaunchConfiguration(PARAMETERS))
# Fields of a launch's configuration that the engine reads.
_READ = dict.fromkeys(("shift", "generation"), 0)
_READY, _COPY = Fields(ReadyCommand(PARAMETERS)), Fields(Copy(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_SEGMENT = Fields(Segment(PARAMETERS))
_COLUMN = {name: column for column, name in enumerate(_SEGMENT.names)}
_LANES = tuple(f"segments__{index}" for index in range(PARAMETERS.channels))
_SLOTS = 1 << PARAMETERS.dispatch_index_bits
_MOST = (1 << PARAMETERS.credit_limit_bits) - 1
_CYCLES = 4000
_BEGINNINGS = 60
_LONG_WALKS = 20
_LONGEST_WALK = (1 << 16) + 100  # cycles
_LONG = 17000

expect(
    "tile of one atom",
    "empty tile",
    "edge tile",
    "segment of one atom",
    "segment of the whole interleave",
    "run ends within a granule",
    "wavefront advances between rows",
    "addresses wrap",
    "slot wraps",
    "walk outside the channels served",
    "segment outside the region",
    "segment outside beside one that leaves",
    "segment to the region's end",
    "segment from the region's beginning",
    "region disabled",
    "region changes as a command begins",
    "lane full",
    "several lanes at once",
    "walker behind another one",
    "an offer stays before a lower walker",
    "more walkers than rows",
    "blocked by credit_limit_in",
    "blocked by credit_limit_in beside a copy",
    "last admitted dispatch index",
    "command and copy at once",
    "copy taken first",
    "command follows at once",
    "workgroup's last command",
    "walk aborted",
)


def make_dut(block: type = DmaEngine):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


class _Bench:
    """DMA engine, its model, and the payloads offered to both."""

    def __init__(self, dut, rng: random.Random):
        self.dut, self.model = dut, Model(PARAMETERS)
        self.checker = StreamChecker(dut, ("ready", "copies", *_LANES))
        self._rest = random.Random(cocotb.RANDOM_SEED)
        self.ready: dict[str, int] | None = None
        self.copy: dict[str, int] | None = None
        self.remote_space = rng.getrandbits(PARAMETERS.context_bits)
        self._last: list[int] | None = None  # segment of the same command
        self._first_atom = 0
        self._was_busy = self._sent = False  # in the cycle before
        self._began = False  # a command, in the cycle before
        self.configure(random_commands(rng), {})

    def configure(
        self,
        commands: list[dict],
        launch_configuration: dict[str, int],
        regions: list[dict[str, int]] | None = None,
    ) -> None:
        """Set new tables; without given regions, every region covers the whole address space."""
        launch_configuration = _READ | launch_configuration
        self.commands, self.launch_configuration = commands, launch_configuration
        maps = {"commands": commands, "regions": regions or [WHOLE_SPACE] * PARAMETERS.regions}
        cover("region changes as a command begins", regions and self._began)
        self.dut.maps.value = _MAPS.pack(maps, rest=self._rest)
        self.dut.launch_configuration.value = _LAUNCH_CONFIGURATION.pack(
            launch_configuration, rest=self._rest
        )
        self.dut.remote_space.value = self.remote_space
        self.model.own["address_space"]["remote"] = self.remote_space
        set_maps(self.model.state, maps)
        set_launch_configuration(self.model.state, launch_configuration)

    async def cycle(
        self, spaces: Sequence[bool], credit_limit_in: int, *, aborting: bool = False
    ) -> StepResult:
        """Drive one cycle; commands are offered until they are accepted."""
        dut, model = self.dut, self.model
        for name, payload, fields in (
            ("ready", self.ready, _READY),
            ("copies", self.copy, _COPY),
        ):
            packed = None if payload is None else fields.pack(flatten(payload))
            offer(dut, name, packed)
        for lane, space in zip(_LANES, spaces, strict=True):
            getattr(dut, f"{lane}__ready").value = int(space)
        dut.credit_limit_in.value, dut.aborting.value = credit_limit_in, int(aborting)
        await settled()
        if aborting:
            self.checker.forgive(_LANES)
        self.checker.sample()
        idle = not (model.busy or self.ready or self.copy)
        assert bool(dut.idle.value) == idle
        assert bool(dut.tables_free.value) == model.tables_free
        cover("walk aborted", aborting and model.busy)
        model.own["aborted"] = aborting
        result = model.step(self.ready, self.copy, spaces, credit_limit_in)
        assert (bool(self.ready) and bool(dut.ready__ready.value)) == result.popped
        assert (bool(self.copy) and bool(dut.copies__ready.value)) == result.copied
        assert bool(dut.issued.value) == result.issued
        assert bool(dut.error__valid.value) == (result.error != 0)
        if result.error:
            found = _REPORT.unpack(int(dut.error__report.value))
            assert found == error_report(result.error, result.atom)
        offered = [index for index, lane in enumerate(_LANES) if self._offers(lane)]
        assert offered == sorted([*result.segments, *result.full])
        for index, segment in result.segments.items():
            assert _SEGMENT.unpack(int(getattr(dut, f"{_LANES[index]}__payload").value)) == segment
        if not aborting:
            self._cover(result, credit_limit_in)
        if result.popped:
            self.ready = None
        if result.copied:
            self.copy = None
        await next_cycle(dut)
        return result

    def _offers(self, lane: str) -> bool:
        return bool(getattr(self.dut, f"{lane}__valid").value)

    def _cover(self, result: StepResult, credit_limit_in: int) -> None:
        ready, copy = self.ready, self.copy
        takes = result.popped or result.copied
        if ready and not self._was_busy:
            beyond = ready["dispatch_index"] + self.launch_configuration["shift"] - credit_limit_in
            cover("blocked by credit_limit_in", beyond >= 0)
            cover("blocked by credit_limit_in beside a copy", beyond >= 0 and result.copied)
            cover("last admitted dispatch index", beyond == -1 and result.popped)
            cover("command and copy at once", copy and beyond < 0)
            cover("copy taken first", copy and beyond < 0 and result.copied)
        if result.popped:
            slot = ready["dispatch_index"] + self.launch_configuration["shift"]
            cover("slot wraps", slot >= _SLOTS)
            cover("workgroup's last command", result.issued)
            cover("edge tile", ready["outer_edge"] or ready["inner_edge"])
        if takes:
            template = self.commands[ready["command"]] if result.popped else copy["command"]
            size = template["outer_extent"], template["inner_extent"]
            whole = result.copied or (
                template["granularity"] == Granularity.WORKGROUP.value
                and not (ready["outer_edge"] or ready["inner_edge"])
            )
            cover("tile of one atom", whole and size == (1, 1))
            cover("empty tile", whole and not all(size))
            cover("command follows at once", self._sent)
            cover("more walkers than rows", whole and 0 < size[0] < PARAMETERS.dma_walkers)
            self._last, self._first_atom = None, (ready if result.popped else copy)["start"]
        cover("walk outside the channels served", result.dropped)
        cover("segment outside the region", result.error)
        cover("segment outside beside one that leaves", result.error and result.segments)
        cover("region disabled", result.error and not self.model.engine["region"]["enable"])
        cover("lane full", result.full)
        cover("several lanes at once", len(result.segments) > 1)
        cover("walker behind another one", result.behind)
        cover("an offer stays before a lower walker", result.stays)
        for segment in result.segments.values():
            self._cover_segment(segment)
            self._last = segment
        self._began = takes
        self._was_busy, self._sent = self.model.busy, bool(result.segments)

    def _cover_segment(self, segment: list[int]) -> None:
        length, whole = segment[_COLUMN["length"]], PARAMETERS.interleave_atoms
        end, region = segment[_COLUMN["atom"]] + length, self.model.engine["region"]
        cover("segment to the region's end", end == region["limit"])
        cover("segment from the region's beginning", segment[_COLUMN["atom"]] == region["base"])
        cover("segment of one atom", length == 1)
        cover("segment of the whole interleave", length == whole)
        cover("run ends within a granule", (segment[_COLUMN["atom"]] + length) % whole)
        if self._last:
            advances = segment[_COLUMN["wavefront"]] != self._last[_COLUMN["wavefront"]]
            cover("wavefront advances between rows", advances and self.model.busy)
            cover("addresses wrap", segment[_COLUMN["atom"]] < self._first_atom)


async def _start(dut, rng: random.Random) -> _Bench:
    await reset(dut, _INPUTS)
    return _Bench(dut, rng)


@cocotb.test()
async def random_traffic(dut):
    """Random commands agree with the model while launch and admission change."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = await _start(dut, rng)
    pace = Pace(rng, ("ready", "copy", *_LANES))
    regions = [WHOLE_SPACE] * PARAMETERS.regions
    for cycle in range(scaled(_CYCLES)):
        if cycle % 50 == 0:
            credit_limit_in = rng.choice([_MOST, _MOST, rng.randrange(40)])
        if rng.random() < 0.01:
            launch_configuration = {
                "shift": rng.choice([0, rng.randrange(12), rng.randrange(_SLOTS)]),
                "generation": rng.getrandbits(4),
            }
            regions = random_regions(rng)
            bench.configure(random_commands(rng), launch_configuration, regions)
        acts = pace.acts()
        if bench.ready is None and acts["ready"]:
            bench.ready = random_ready(rng, regions)
        if bench.copy is None and acts["copy"] and rng.random() < 0.3:
            bench.copy = random_copy(rng, regions)
        if rng.random() < 0.02 and bench.ready:
            credit_limit_in = (
                bench.ready["dispatch_index"]
                + bench.launch_configuration["shift"]
                + rng.randrange(2)
            )
        aborting = rng.random() < 0.004
        await bench.cycle([acts[lane] for lane in _LANES], credit_limit_in, aborting=aborting)


@cocotb.test()
async def beginnings_of_any_walk(dut):
    """Geometry and admission are right for values of full width."""
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    for _ in range(scaled(_BEGINNINGS)):
        bench = await _start(dut, rng)
        shift = rng.getrandbits(rng.randrange(PARAMETERS.credit_limit_bits + 1))
        launch_configuration = {"shift": shift, "generation": rng.getrandbits(4)}
        bench.configure(wide_commands(rng), launch_configuration, random_regions(rng))
        dispatch_index = rng.randrange(_SLOTS)
        for cycle in range(20):
            if cycle == 0 or rng.random() < 0.2:
                bench.ready = bench.ready or random_ready(rng) | {"dispatch_index": dispatch_index}
            near = dispatch_index + shift + rng.choice([0, 1, 1, 1, rng.randrange(-80, 80)])
            credit_limit_in = min(max(near, 0), _MOST)
            if bench.copy is None and rng.random() < 0.05:
                bench.copy = random_copy(rng, commands=wide_commands)
            await bench.cycle([rng.random() < 0.9 for _ in _LANES], credit_limit_in)


async def _walk(bench: _Bench) -> list[dict[str, int]]:
    """Return the segments of the offered command, in the order in which they leave."""
    segments = []
    for _ in range(_LONGEST_WALK):
        result = await bench.cycle([True] * len(_LANES), _MOST)
        for segment in result.segments.values():
            segments.append(dict(zip(_SEGMENT.names, segment, strict=True)))
        if not (bench.ready or bench.copy or bench.model.busy):
            await bench.cycle([True] * len(_LANES), _MOST)  # cycles without progress
            return segments
    raise AssertionError("The walk does not end")


@cocotb.test()
async def long_walks(dut):
    """Walks over many rows, over long rows and over small parts of large tiles end correctly."""
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    for _ in range(scaled(_LONG_WALKS)):
        bench = await _start(dut, rng)
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
    bench = await _start(dut, rng)
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
    """Return address, wavefront and remote address of every atom."""
    wavefronts, atoms = PARAMETERS.wavefronts, 1 << PARAMETERS.atom_address_bits
    return [
        (
            segment["atom"] + index,
            (segment["wavefront"] + ((segment["offset"] + index) >> segment["wave_inner_log2"]))
            % wavefronts,
            (segment["atom"] + index + segment["atom_offset"]) % atoms,
        )
        for segment in segments
        for index in range(segment["length"])
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
    bench = await _start(dut, rng)
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
        }
        shift = rng.choice([0, 5, 44, 60])
        by = [{**shape, "granularity": granularity.value} for granularity in Granularity]
        bench.configure(by, {"shift": shift})
        edges = {"outer_edge": rng.getrandbits(1), "inner_edge": rng.getrandbits(1)}
        outer_extent = cut_rows if edges["outer_edge"] else outer_extent
        inner_extent = cut_run if edges["inner_edge"] else inner_extent
        start = rng.randrange(atoms // 2)
        expected = [
            (
                atom,
                (column >> run_log2) + (row // wave_outer_extent << minor_log2),
                (atom + shape["atom_offset"]) % atoms,
            )
            for row in range(outer_extent)
            for column in range(inner_extent)
            if _served(atom := start + row * shape["stride"] + column)
        ]
        tile = {"start": start, "dispatch_index": 20, "last": 1, **edges}
        bench.ready = {**tile, "command": Granularity.WORKGROUP.value, "wavefront": 0}
        segments = await _walk(bench)
        assert sorted(_atoms(segments)) == sorted(expected)
        assert all(segment["slot"] == (20 + shift) % _SLOTS for segment in segments)
        found = []
        for wavefront in range(PARAMETERS.wavefronts):
            minor, major = wavefront % (1 << minor_log2), wavefront >> minor_log2
            first = start + (minor << run_log2) + major * wave_outer_extent * shape["stride"]
            bench.ready = {
                **tile,
                "command": Granularity.WAVEFRONT.value,
                "wavefront": wavefront,
                "start": first,
            }
            found += _atoms(await _walk(bench))
        assert sorted(found) == sorted(expected)


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
