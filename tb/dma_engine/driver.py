"""Driver of the DMA engine behind its ports, which compares every cycle with the golden model."""

import random
from collections.abc import Sequence

import cocotb

from rtl.dma.engine import DmaEngine
from rtl.interface.configuration import LaunchConfiguration, MapConfiguration
from rtl.interface.encodings import Granularity, PacketKind
from rtl.interface.layouts import Copy, ErrorReport, ReadyCommand, Segment
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, settled
from tb.dma_engine.model import Model
from tb.dma_engine.points import StepResult
from tb.dma_engine.tables import (
    NO_ATOM,
    PARAMETERS,
    WHOLE_SPACE,
    random_commands,
)
from tb.golden import error_report, set_launch_configuration, set_maps
from tb.payload import Fields, flatten
from tb.stream import StreamChecker, offer

__all__ = ["INPUTS", "LANES", "MOST", "SEGMENT", "SLOTS", "Bench", "make_dut", "start"]

_MAPS = Fields(MapConfiguration(PARAMETERS))
_LAUNCH_CONFIGURATION = Fields(LaunchConfiguration(PARAMETERS))
# Fields of a launch's configuration that the engine reads.
_READ = {"generation": 0}
_READY, _COPY = Fields(ReadyCommand(PARAMETERS)), Fields(Copy(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
SEGMENT = Fields(Segment(PARAMETERS))
_COLUMN = {name: column for column, name in enumerate(SEGMENT.names)}
_COUNTS = 1 << PARAMETERS.tile_atom_bits
LANES = tuple(f"segments__{index}" for index in range(PARAMETERS.channels))
SLOTS = 1 << PARAMETERS.dispatch_index_bits
_LIMIT_BITS = PARAMETERS.credit_limit_bits
MOST = (1 << _LIMIT_BITS) - 1
_END = PacketKind.END.value

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
    "blocked by the limit",
    "blocked by the limit beside a copy",
    "last admitted dispatch index",
    "command and copy at once",
    "copy taken first",
    "command follows at once",
    "workgroup's last command",
    "walk aborted",
    "marker of a wavefront of a workgroup",
    "marker of a wavefront",
    "marker without atoms",
    "markers of a tile without atoms",
    "marker with both edges",
    "marker into a full lane",
    "markers aborted",
    "markers without a walk",
    "markers behind a walk",
    "number of atoms wraps",
    "copy without markers",
)


def make_dut(block: type = DmaEngine):
    return block(PARAMETERS)


INPUTS = inputs_of(make_dut())


class Bench:
    """DMA engine, its model, and the payloads offered to both."""

    def __init__(self, dut, rng: random.Random):
        self.dut, self.model = dut, Model(PARAMETERS)
        self.checker = StreamChecker(dut, ("ready", "copies", *LANES))
        self._rest = random.Random(cocotb.RANDOM_SEED)
        self.ready: dict[str, int] | None = None
        self.copy: dict[str, int] | None = None
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
        ranges: list[dict[str, int]] | None = None,
    ) -> None:
        """Set new tables; without given regions, every region covers the whole address space;
        without given ranges, each has the command of its own number.
        """
        launch_configuration = _READ | launch_configuration
        self.commands, self.launch_configuration = commands, launch_configuration
        plain = [{"command": number, "peers": 1 << number} for number in range(PARAMETERS.ranges)]
        self.ranges = [{"peers": 0, "slot_offset": 0} | entry for entry in ranges or plain]
        maps = {"commands": commands, "regions": regions or [WHOLE_SPACE] * PARAMETERS.regions}
        maps["ranges"] = self.ranges
        cover("region changes as a command begins", regions and self._began)
        self.dut.maps.value = _MAPS.pack(maps, rest=self._rest)
        self.dut.launch_configuration.value = _LAUNCH_CONFIGURATION.pack(
            launch_configuration, rest=self._rest
        )
        set_maps(self.model.state, maps)
        set_launch_configuration(self.model.state, launch_configuration)

    async def cycle(
        self, spaces: Sequence[bool], limit: int, *, aborting: bool = False
    ) -> StepResult:
        """Drive one cycle, with this limit of the offered command's range; commands are offered
        until they are accepted.
        """
        dut, model = self.dut, self.model
        for name, payload, fields in (
            ("ready", self.ready, _READY),
            ("copies", self.copy, _COPY),
        ):
            packed = None if payload is None else fields.pack(flatten(payload))
            offer(dut, name, packed)
        for lane, space in zip(LANES, spaces, strict=True):
            getattr(dut, f"{lane}__ready").value = int(space)
        limits = [self._rest.randrange(MOST + 1) for _ in range(PARAMETERS.ranges)]
        if self.ready:
            limits[self.ready["range"]] = limit
        packed = sum(one << _LIMIT_BITS * number for number, one in enumerate(limits))
        dut.limits.value, dut.aborting.value = packed, int(aborting)
        await settled()
        if aborting:
            self.checker.forgive(LANES)
        self.checker.sample()
        idle = not (model.busy or self.ready or self.copy)
        assert bool(dut.idle.value) == idle
        assert bool(dut.tables_free.value) == model.tables_free
        cover("walk aborted", aborting and model.busy)
        cover("markers aborted", aborting and model.marking)
        self._marked, walked = model.marking, model.walking
        model.own["aborted"] = aborting
        result = model.step(self.ready, self.copy, spaces, limits)
        assert (bool(self.ready) and bool(dut.ready__ready.value)) == result.popped
        assert (bool(self.copy) and bool(dut.copies__ready.value)) == result.copied
        assert bool(dut.issued.value) == result.issued
        assert bool(dut.error__valid.value) == (result.error != 0)
        if result.error:
            found = _REPORT.unpack(int(dut.error__report.value))
            assert found == error_report(result.error, result.atom)
        offered = [index for index, lane in enumerate(LANES) if self._offers(lane)]
        assert offered == sorted([*result.segments, *result.full])
        for index, segment in result.segments.items():
            assert SEGMENT.unpack(int(getattr(dut, f"{LANES[index]}__payload").value)) == segment
        if not aborting:
            self._cover(result, limit)
            cover("markers behind a walk", walked and model.marking)
            cover("markers without a walk", model.marking and not (walked or self._marked))
        if result.popped:
            self.ready = None
        if result.copied:
            self.copy = None
        await next_cycle(dut)
        return result

    def _offers(self, lane: str) -> bool:
        return bool(getattr(self.dut, f"{lane}__valid").value)

    def _cover(self, result: StepResult, limit: int) -> None:
        ready, copy = self.ready, self.copy
        takes = result.popped or result.copied
        if ready and not self._was_busy:
            beyond = ready["dispatch_index"] - limit
            cover("blocked by the limit", beyond >= 0)
            cover("blocked by the limit beside a copy", beyond >= 0 and result.copied)
            cover("last admitted dispatch index", beyond == -1 and result.popped)
            cover("command and copy at once", copy and beyond < 0)
            cover("copy taken first", copy and beyond < 0 and result.copied)
        if result.popped:
            slot = ready["dispatch_index"] + self.ranges[ready["range"]].get("slot_offset", 0)
            cover("slot wraps", slot >= SLOTS)
            cover("workgroup's last command", result.issued)
            cover("edge tile", ready["outer_edge"] or ready["inner_edge"])
        if takes:
            template = copy["command"] if result.copied else self._command_of(ready)
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
            empty = result.popped and ready["start"] == NO_ATOM and template["marks"]
            cover("markers of a tile without atoms", empty)
            cover("copy without markers", result.copied and template["marks"])
        cover("walk outside the channels served", result.dropped)
        cover("segment outside the region", result.error)
        cover("segment outside beside one that leaves", result.error and result.segments)
        cover("region disabled", result.error and not self.model.engine["region"]["enable"])
        cover("lane full", result.full)
        cover("several lanes at once", len(result.segments) > 1)
        cover("walker behind another one", result.behind)
        cover("an offer stays before a lower walker", result.stays)
        cover("marker into a full lane", result.waits)
        for segment in result.segments.values():
            if segment[_COLUMN["kind"]] == _END:
                self._cover_marker(segment)
                continue
            self._cover_segment(segment)
            self._last = segment
        self._began = takes
        self._was_busy, self._sent = self.model.busy, bool(result.segments)

    def _command_of(self, ready: dict[str, int]) -> dict:
        return self.commands[self.ranges[ready["range"]]["command"]]

    def _cover_marker(self, segment: list[int]) -> None:
        engine, edges = self.model.engine, segment[_COLUMN["atom"]] >> PARAMETERS.tile_atom_bits
        one = engine["template"]["wave_inner_log2"] == 15 and engine["wavefront_base"]
        cover("marker of a wavefront", one and segment[_COLUMN["wavefront"]])
        cover("marker of a wavefront of a workgroup", not one and segment[_COLUMN["wavefront"]])
        cover("marker without atoms", segment[_COLUMN["atom"]] % _COUNTS == 0)
        cover("marker with both edges", edges & 3 == 3)
        atoms = int(engine["mark_rows"]) * int(engine["mark_row_atoms"])
        cover("number of atoms wraps", atoms >= _COUNTS)

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


async def start(dut, rng: random.Random) -> Bench:
    await reset(dut, INPUTS)
    return Bench(dut, rng)
