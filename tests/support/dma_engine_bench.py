"""Bench of the DMA engine: drives its ports and decodes the segments that leave."""

from dataclasses import dataclass, replace

from rtl.dma.engine import DmaEngine
from rtl.interface.encodings import Datatype, ErrorCode, Granularity, Operation, PacketKind
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device


def command_entry(**fields):
    """Return a command of 4 x 16 atoms by workgroup, with ``fields`` changed."""
    return {
        "kind": PacketKind.UPDATE.value,
        "marks": 0,
        "op": Operation.SUM,
        "dtype": Datatype.FP16,
        "atom_offset": 0,
        "granularity": Granularity.WORKGROUP,
        "group_log2": 0,
        "outer_extent": 4,
        "outer_extent_edge": 3,
        "inner_extent": 16,
        "inner_extent_edge": 10,
        "stride": 100,
        "region": 0,
        "wave_outer_extent": 2,
        "wave_inner_log2": 3,
        "waves_inner_log2": 1,
        "waves": [0, 0, 0, 0],
    } | fields


def whole_space(p):
    """Return the largest region: every atom but the last, which no region can hold."""
    return {"enable": 1, "base": 0, "limit": 2**p.atom_address_bits - 1}


def channel_number(p, atom):
    """Return the channel that holds an atom: the remainder of its granule's number."""
    block, degree = atom // p.interleave_atoms, p.system_channels.bit_length() - 1
    if degree == 0:
        return 0
    divisor = 1 << degree | 1
    while block >> degree:
        block ^= divisor << (block.bit_length() - 1 - degree)
    return block


@dataclass(frozen=True)
class SentSegment:
    """Segment that left, with its atoms as pairs of atom and wavefront."""

    lane: int
    slot: int
    atoms: list


@dataclass(frozen=True)
class SentMarker:
    """END segment that left: the marker of a wavefront's tile."""

    lane: int
    slot: int
    wavefront: int
    tile_atoms: int
    outer_edge: int
    inner_edge: int


PREPARATION = 2
"""Cycles from the acceptance of a command to its first segments."""
OF_COPIES = 0b01011010
"""Peers of all copies."""


def table_of_ranges(p, slot_offset):
    """Return one range for each command, the last range for the first command, each with peers of
    its own; the slot offset is that of the first command's range."""
    offsets = [(slot_offset + command) % 2**p.credit_limit_bits for command in range(p.commands)]
    ranges = [
        {"command": command, "slot_offset": offset, "peers": 3 + 5 * command}
        for command, offset in enumerate(offsets)
    ]
    return [{}] * (p.ranges - p.commands) + ranges[::-1]


class Bench:
    """Driver of an engine. It checks each segment's lane and the fields copied from the command,
    and each marker's lane and the fields that are the same for all markers.

    A ready command is given by the number of its command, of whose range it is. ``errors`` collects
    the dispatch index and wavefront of each report of a dropped segment.
    """

    def __init__(self, ctx, dut, p, launch_configuration, commands, regions, ranges):
        self.ctx, self.dut, self.p = ctx, dut, p
        self.generation = launch_configuration["generation"]
        self.commands, self.ranges = commands, ranges
        self.command = self.peers = None  # in hand
        self.errors = []
        self.idle = True  # in the last cycle
        self.set_regions(regions)
        ctx.set(dut.maps.commands, commands)
        ctx.set(dut.maps.ranges, ranges)
        ctx.set(dut.launch_configuration, launch_configuration)

    def set_regions(self, regions):
        """Change the regions from this cycle on."""
        self.regions = regions
        self.ctx.set(self.dut.maps.regions, regions)

    def _limits(self, number, limit):
        """Return a limit of the range with a number, and others which differ much from it."""
        other = 0 if limit else 2**self.p.credit_limit_bits - 1
        return [limit if index == number else other for index in range(self.p.ranges)]

    async def cycle(
        self, *, ready=None, copy=None, limit=1 << 16, lanes_ready=None, aborting=False
    ):
        """Run one cycle; return the sources whose command was taken, and the segments that left.

        ``limit`` is the one of the ready command's range.
        """
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.ready.valid, ready is not None)
        ctx.set(dut.copies.valid, copy is not None)
        if ready is not None:
            number = self.p.ranges - 1 - ready["command"]
            fields = {name: value for name, value in ready.items() if name != "command"}
            ctx.set(dut.ready.p, fields | {"range": number})
            ctx.set(dut.limits, self._limits(number, limit))
        if copy is not None:
            command = self.commands[copy["command"]]
            region = self.regions[command["region"]]
            of_copy = {"command": command, "region": region, "peers": OF_COPIES}
            ctx.set(dut.copies.p, copy | of_copy)
        ctx.set(dut.aborting, aborting)
        lanes_ready = lanes_ready or [1] * self.p.channels
        for lane, lane_ready in zip(dut.segments, lanes_ready, strict=True):
            ctx.set(lane.ready, lane_ready)
        offered = [
            self._decode(number, ctx.get(lane.p))
            for number, lane in enumerate(dut.segments)
            if ctx.get(lane.valid) and lanes_ready[number]
        ]
        taken = [
            name
            for name, stream in (("ready", dut.ready), ("copy", dut.copies))
            if ctx.get(stream.valid & stream.ready)
        ]
        if ctx.get(dut.error.valid):
            report = ctx.get(dut.error.report)
            assert report.code == ErrorCode.DMA_OUT_OF_REGION
            self.errors.append((report.dispatch_index, report.wavefront))
        assert ctx.get(dut.issued) == (taken == ["ready"] and not aborting and ready["last"])
        self.idle = bool(ctx.get(dut.idle))
        if taken and not aborting:
            (source,) = taken
            number = (ready if source == "ready" else copy)["command"]
            self.command = self.commands[number]
            self.peers = self.ranges[-1 - number]["peers"] if source == "ready" else OF_COPIES
            self.marks = source == "ready" and self.command["marks"]
        await ctx.tick()
        return taken, offered

    def _decode(self, number, segment):
        p = self.p
        assert segment.peers == self.peers
        assert segment.generation == self.generation
        if segment.kind == PacketKind.END:
            return self._decode_marker(number, segment)
        assert segment.kind == self._kind()
        for name in ("op", "dtype", "atom_offset"):
            assert getattr(segment, name) == self.command[name]
        atoms = []
        for index in range(segment.length):
            atom = (segment.atom + index) % 2**p.atom_address_bits
            assert channel_number(p, atom) == p.first_channel + number
            wave = segment.wavefront + (segment.offset + index >> segment.wave_inner_log2)
            atoms.append((atom, wave % p.wavefronts))
        return SentSegment(number, segment.slot, atoms)

    def _kind(self):
        """Return the kind of the command's packets: the receiver tracks stores with markers."""
        if self.command["kind"]:
            return PacketKind.UPDATE
        return PacketKind.PLACE if self.marks else PacketKind.STORE

    def _decode_marker(self, number, segment):
        assert (segment.length, segment.offset, segment.atom_offset) == (1, 0, 0)
        assert segment.wave_inner_log2 == 15
        spread = 1 << (self.p.channels.bit_length() - 1)
        assert number == (segment.slot + segment.wavefront) % spread
        above, tile_atoms = divmod(segment.atom, 1 << self.p.tile_atom_bits)
        shares, edges = divmod(above, 4)
        assert shares == 1
        return SentMarker(
            number, segment.slot, segment.wavefront, tile_atoms, edges & 1, edges >> 1
        )

    async def prepare(self):
        """Run the cycles in which a command that was taken sends nothing yet."""
        for _ in range(PREPARATION):
            assert not self.ctx.get(self.dut.tables_free)
            assert await self.cycle() == ([], [])
        assert self.ctx.get(self.dut.tables_free)

    async def rest(self):
        """Run until the engine is idle; return the segments."""
        segments = []
        while True:
            segments += (await self.cycle())[1]
            if self.idle:
                return segments

    async def walk(self, **command):
        """Run one command without back-pressure; return its segments."""
        taken, _ = await self.cycle(**command)
        assert taken
        await self.prepare()
        return await self.rest()


def simulate(p, commands, bench, *, regions=None, slot_offset=0):
    """Run ``bench(engine)`` on an engine with these tables; ``slot_offset`` is that of the range of
    the first command.
    """
    p = replace(p, ranges=max(p.ranges, p.commands))
    dut = device(DmaEngine, p)
    regions = regions or [whole_space(p)] * p.regions
    commands = commands + [command_entry()] * (p.commands - len(commands))
    launch_configuration = {"workgroups": 100, "generation": 9}
    ranges = table_of_ranges(p, slot_offset)

    async def run(ctx):
        await bench(Bench(ctx, dut, p, launch_configuration, commands, regions, ranges))

    simulate_device(dut, run)
