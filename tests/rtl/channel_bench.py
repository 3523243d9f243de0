"""A channel beside the golden model, its tables, and payloads for it."""

from amaranth.sim import Simulator

from rtl.channel.channel import Channel
from rtl.interface.encodings import (
    Action,
    Datatype,
    ErrorCode,
    Operation,
    PacketKind,
    Policy,
    StoreKind,
)
from rtl.interface.layouts import ErrorReport
from rtl.parameters import T3Parameters
from tb.channel.model import Model
from tb.golden import error_report, set_arbiter, set_launch_configuration, set_maps
from tb.payload import Fields, flatten

__all__ = [
    "ALL",
    "DATA",
    "FIRST",
    "INPUTS",
    "OUTPUTS",
    "REGIONS",
    "TABLES",
    "TIMING",
    "WORKGROUPS",
    "Bench",
    "packet",
    "simulate",
    "store",
]

TIMING = T3Parameters(ranges=6)
DATA = T3Parameters(ranges=6, with_data=True)

INPUTS = ("reads", "stores", "link_in", "issue_acks")
OUTPUTS = ("dram", "link_out", "tile_issue_acks", "end_of_tile_markers")
ALL = frozenset(OUTPUTS)

REGIONS = [
    {"enable": 1, "base": 1000, "limit": 2000, "context": 1},
    {"enable": 1, "base": 3000, "limit": 3500, "context": 2},
]
RANGES = [
    {"enable": 1, "region": 0, "first": 0, "last": 9, "action": Action.REMOTE, "command": 0},
    {"enable": 1, "region": 0, "first": 10, "last": 29, "action": Action.DMA, "command": 1},
    {"enable": 1, "region": 0, "first": 30, "last": 39, "action": Action.OWN, "command": 2},
    {"enable": 1, "region": 1, "first": 20, "last": 49, "action": Action.DMA, "command": 3},
    {"enable": 0, "region": 1, "first": 0, "last": 49, "action": Action.REMOTE, "command": 3},
    {"enable": 1, "region": 1, "first": 0, "last": 19, "action": Action.REMOTE, "command": 3},
]


def transfer(kind, op, dtype, context, atom_offset):
    return {
        "kind": kind,
        "op": op,
        "dtype": dtype,
        "context": context,
        "atom_offset": atom_offset,
    }


COMMANDS = [
    transfer(PacketKind.UPDATE, Operation.MAX, Datatype.BF16, 5, 10000),
    transfer(PacketKind.UPDATE, Operation.MIN, Datatype.FP32, 6, 20000),
    transfer(PacketKind.UPDATE, Operation.SUM, Datatype.BF16, 7, 30000),
    transfer(PacketKind.STORE, Operation.SUM, Datatype.FP16, 8, 2**35 - 3000),
]
FIRST, WORKGROUPS = 17, 50
TABLES = {
    "regions": REGIONS,
    "ranges": RANGES,
    "commands": COMMANDS,
    "first_workgroup": FIRST,
    "workgroups": WORKGROUPS,
}


class Bench:
    """Drives a channel and checks every port in every cycle against the golden model."""

    def __init__(self, ctx, dut, p):
        self.ctx, self.dut = ctx, dut
        self.model = Model(p)
        self._fields = {name: Fields(getattr(dut, name).p.shape()) for name in OUTPUTS}
        self._report = Fields(ErrorReport(p))
        self.program(TABLES)
        arbiter = {"policy": Policy.ROUND_ROBIN}
        ctx.set(dut.arbiter, arbiter)
        set_arbiter(self.model.state, arbiter)

    def program(self, tables):
        """Other tables, from this cycle on."""
        launch_configuration = {name: tables[name] for name in ("first_workgroup", "workgroups")}
        maps = {name: tables[name] for name in ("regions", "ranges", "commands")}
        self.ctx.set(self.dut.maps, self.dut.maps.shape().const(maps))
        self.ctx.set(self.dut.launch_configuration, launch_configuration)
        set_maps(self.model.state, maps)
        set_launch_configuration(self.model.state, launch_configuration)

    async def cycle(self, offered=None, taken=ALL, base=12, limit=35):
        """One cycle. Gives what left, by port, and the errors' codes."""
        offered = offered or {}
        self._drive(offered, taken, base, limit)
        left = self._compare(taken)
        flat = {name: flatten(payload) for name, payload in offered.items()}
        idle = self.model.step(flat, set(taken), occupancy=0, start=False)
        assert self.ctx.get(self.dut.idle) == idle
        errors = self._compare_error()
        await self.ctx.tick()
        return left, errors

    def _drive(self, offered, taken, base, limit):
        ctx, dut, gpu = self.ctx, self.dut, self.model.state.gpu
        ctx.set(dut.oldest, base)
        ctx.set(dut.credit_limit, limit)
        gpu["oldest"], gpu["credit_limit"] = base, limit
        for name in INPUTS:
            ctx.set(getattr(dut, name).valid, name in offered)
            if name in offered:
                ctx.set(getattr(dut, name).p, offered[name])
        for name in OUTPUTS:
            ctx.set(getattr(dut, name).ready, name in taken)

    def _compare(self, taken):
        """The ports at the start of the cycle; gives the payloads that leave."""
        ctx, dut, model = self.ctx, self.dut, self.model
        left = {}
        for name in INPUTS:
            assert ctx.get(getattr(dut, name).ready) == model.ready(name), name
        for name, fields in self._fields.items():
            port, expected = getattr(dut, name), model.offers(name, fields.names)
            assert ctx.get(port.valid) == (expected is not None), name
            if expected is not None:
                payload = ctx.get(port.p)
                assert fields.unpack(payload.as_bits()) == expected, name
                if name in taken:
                    left[name] = payload
        assert ctx.get(dut.stored) == model.stored
        return left

    def _compare_error(self):
        """Of the cycle that the model has just done; gives its code, if there is one."""
        error, failure = self.dut.error, self.model.failure
        assert self.ctx.get(error.valid) == (failure != 0)
        if not failure:
            return []
        found = self._report.unpack(self.ctx.get(error.report).as_bits())
        assert found == error_report(failure)
        return [ErrorCode(found[0])]

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
        # Those of the command of the dispatch indices 10 to 29.
        "op": Operation.MIN,
        "dtype": Datatype.FP32,
    } | fields
