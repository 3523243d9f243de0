"""A channel beside its reference, and payloads for it."""

from amaranth.sim import Simulator
from channel_reference import TABLES, Reference

from rtl.channel.channel import Channel
from rtl.interface.encodings import (
    Datatype,
    Operation,
    PacketKind,
    Policy,
    StoreKind,
)
from rtl.interface.layouts import (
    DramRequest,
    IssueAck,
    Packet,
    ReadRequest,
    StoreRequest,
    TileUpdates,
    TrackerInput,
)
from rtl.parameters import T3Parameters

__all__ = ["ALL", "Bench", "DATA", "INPUTS", "OUTPUTS", "TIMING", "packet", "simulate", "store"]

TIMING = T3Parameters(ranges=6)
DATA = T3Parameters(ranges=6, with_data=True)

INPUTS = {"reads": ReadRequest, "stores": StoreRequest, "link_in": Packet, "issue_acks": IssueAck}
OUTPUTS = {
    "dram": ("issue", DramRequest),
    "link_out": ("link", Packet),
    "tile_issue_acks": ("issue_acks", TileUpdates),
    "end_of_tile_markers": ("ends", TrackerInput),
}
ALL = frozenset(OUTPUTS)


class Bench:
    """Drives a channel and checks every port in every cycle against the reference."""

    def __init__(self, ctx, dut, p):
        self.ctx, self.dut, self.p = ctx, dut, p
        self.reference = Reference()
        self.program(TABLES)
        ctx.set(dut.arbiter, {"policy": Policy.ROUND_ROBIN})

    def program(self, tables):
        """Other tables, from this cycle on."""
        launch_configuration = {name: tables[name] for name in ("first_workgroup", "workgroups")}
        maps = {name: tables[name] for name in ("regions", "ranges", "commands")}
        self.ctx.set(self.dut.maps, self.dut.maps.shape().const(maps))
        self.ctx.set(self.dut.launch_configuration, launch_configuration)
        self.reference.tables = tables

    def ready(self, name):
        if name == "issue_acks":
            return self.reference.buffer.room
        line = {"link_in": "inbound"}.get(name, name)
        return len(self.reference.lines[line].items) < self.reference.lines[line].depth

    def check_error(self, port, expected):
        assert self.ctx.get(port.valid) == (expected is not None)
        if expected:
            assert self.ctx.get(port.report) == port.report.shape().const(expected)

    async def cycle(self, offered=None, taken=ALL, base=12, limit=35):
        """One cycle. Gives what left, by port, and the errors' codes."""
        ctx, dut, offered = self.ctx, self.dut, offered or {}
        ctx.set(dut.oldest, base)
        ctx.set(dut.credit_limit, limit)
        for name in INPUTS:
            ctx.set(getattr(dut, name).valid, name in offered)
            if name in offered:
                ctx.set(getattr(dut, name).p, offered[name])
        for name in OUTPUTS:
            ctx.set(getattr(dut, name).ready, name in taken)
        left = {}
        for name in INPUTS:
            assert ctx.get(getattr(dut, name).ready) == self.ready(name), name
        for name, (line, layout) in OUTPUTS.items():
            items = self.reference.lines[line].items
            assert ctx.get(getattr(dut, name).valid) == bool(items), name
            if items:
                assert ctx.get(getattr(dut, name).p) == layout(self.p).const(items[0]), name
                if name in taken:
                    left[name] = items[0]
        assert ctx.get(dut.stored) == self.reference.stored
        remote, link = self.reference.remote.items, self.reference.link.items
        assert ctx.get(dut.idle) == (not remote and not link)
        error = self.reference.error(base, limit)
        self.check_error(dut.error, error)
        self.reference.tick(offered, taken, base, limit)
        await ctx.tick()
        return left, [error["code"]] if error else []

    async def drain(self, cycles=20):
        """Everything that leaves from now on, and the errors."""
        left, errors = [], []
        for _ in range(cycles):
            ports, codes = await self.cycle()
            left += ports.items()
            errors += codes
        return left, errors


def simulate(p, bench):
    dut = Channel(p)
    sim = Simulator(dut)
    sim.add_clock(1e-9)

    async def run(ctx):
        await bench(Bench(ctx, dut, p))

    sim.add_testbench(run)
    sim.run()


def store(workgroup, atom=1500, context=1, **fields):
    return {
        "kind": StoreKind.STORE,
        "atom": atom,
        "context": context,
        "workgroup": workgroup,
        "wavefront": 3,
        "tile_atoms": 9,
        "outer_edge": 1,
        "inner_edge": 0,
    } | fields


def packet(workgroup, atom=1500, context=1, **fields):
    return {
        "kind": PacketKind.UPDATE,
        "atom": atom,
        "context": context,
        "workgroup": workgroup,
        "wavefront": 6,
        "op": Operation.MAX,
        "dtype": Datatype.FP32,
    } | fields
