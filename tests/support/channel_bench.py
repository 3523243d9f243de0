"""Bench of a channel beside the golden model, with its tables and payloads."""

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
from sysmodel.engine.ports import O
from tb.channel.model import Model
from tb.golden import EVERY_KIND, error_report, peer, set_arbiter, set_view, slots_of, wavefronts_of
from tb.payload import Fields, flatten
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

__all__ = [
    "ALL",
    "CONTEXTS",
    "DATA",
    "INPUTS",
    "OFFSET",
    "OUTPUTS",
    "SLOT",
    "TIMING",
    "WORKGROUPS",
    "Bench",
    "changed",
    "end",
    "has",
    "packet",
    "simulate",
    "store",
    "view",
]

TIMING = T3Parameters(contexts=2)
DATA = T3Parameters(contexts=2, with_data=True)

INPUTS = ("reads", "stores", "link_in", "issue_acks")
OUTPUTS = ("dram", "link_out", "tile_issue_acks", "end_of_tile_markers")
ALL = frozenset(OUTPUTS)


def _ranges(*ranges):
    names = ("enable", "first", "last", "action", "command", "shares", "peers", "slot_offset")
    return [dict(zip(names, one, strict=True)) | {"region": 0} for one in ranges]


def transfer(kind, op, dtype, atom_offset, marks=0):
    waves = [8, 8, 7, 7]
    command = {"kind": kind.value, "marks": marks, "op": op, "dtype": dtype}
    return command | {"atom_offset": atom_offset, "waves": waves}


WORKGROUPS = 50
OFFSET = 0x1FFFB  # -5: slots of the first context wrap at its sixth dispatch index
SLOT = 0xFFFB  # of its first dispatch index
# Each context has a region, an address space of its own, and a receiver. Packets come from rank 0.
CONTEXTS = [
    {
        "aborting": 0,
        "inbound": EVERY_KIND,
        "address_space": {"enable": 1, "local": 1},
        "rank": 3,
        "peers": [peer(gpu=40, rank=0, space=5), peer(gpu=127, rank=127, space=15)],
        "regions": [{"enable": 1, "base": 1000, "limit": 2000}],
        "ranges": _ranges(
            (1, 0, 9, Action.REMOTE, 0, 0, 0b1, OFFSET),
            (1, 10, 29, Action.DMA, 1, 2, 0b1, 0),
            (1, 30, 39, Action.OWN, 2, 63, 0, 0),
        ),
        "commands": [
            transfer(PacketKind.UPDATE, Operation.MAX, Datatype.BF16, 10000, marks=1),
            transfer(PacketKind.UPDATE, Operation.MIN, Datatype.FP32, 20000),
            transfer(PacketKind.UPDATE, Operation.SUM, Datatype.BF16, 30000),
        ],
        "launch": {"workgroups": WORKGROUPS},
    },
    {
        "aborting": 0,
        "inbound": EVERY_KIND,
        "address_space": {"enable": 1, "local": 2},
        "rank": 100,
        "peers": [{"enable": 0}, peer(gpu=2, rank=0, space=8)],
        "regions": [{"enable": 1, "base": 3000, "limit": 3500}],
        "ranges": _ranges(
            (1, 20, 49, Action.DMA, 3, 1, 0b10, 0),
            (0, 0, 49, Action.REMOTE, 3, 0, 0b11, 30),
            (1, 0, 19, Action.REMOTE, 3, 0, 0b10, 9),
        ),
        "commands": [{}] * 3
        + [transfer(PacketKind.STORE, Operation.SUM, Datatype.FP16, 2**35 - 3000)],
        "launch": {"workgroups": WORKGROUPS},
    },
]


def changed(context=0, **fields):
    """Return the contexts with other tables in one; ``name_index`` changes fields of an entry."""
    contexts = [dict(one) for one in CONTEXTS]
    for name, value in fields.items():
        table, _, index = name.rpartition("_")
        if index.isdigit():
            entries = list(contexts[context][table])
            entries[int(index)] = entries[int(index)] | value
            contexts[context][table] = entries
        elif isinstance(value, dict):
            contexts[context][name] = contexts[context].get(name, {}) | value
        else:
            contexts[context][name] = value
    return contexts


def view(tables, base, limit):
    """Return the ``ContextView`` of a context."""
    maps = {name: tables[name] for name in ("regions", "ranges", "commands")}
    return {
        "aborting": tables["aborting"],
        "launched": tables.get("launched", 1),
        "changes": tables.get("changes", 0),
        "former": tables.get("former", {}),
        "address_space": tables["address_space"],
        "inbound": tables["inbound"],
        "rank": tables["rank"],
        "peers": tables["peers"],
        "maps": maps,
        "wavefronts": wavefronts_of(maps),
        "launch_configuration": tables["launch"],
        "slots": slots_of(tables["launch"]),
        "oldest": base,
        "credit_limit": limit,
    }


class Bench:
    """Driver of a channel that checks every port in every cycle against the golden model."""

    def __init__(self, ctx, dut, p):
        self.ctx, self.dut = ctx, dut
        self.model = Model(p)
        self._fields = {name: Fields(getattr(dut, name).p.shape()) for name in OUTPUTS}
        self._report = Fields(ErrorReport(p))
        self.contexts, self._views = CONTEXTS, None
        self.link_space = 3  # a bit for each context
        arbiter = {"policy": Policy.ROUND_ROBIN}
        ctx.set(dut.arbiter, arbiter)
        set_arbiter(self.model.state, arbiter)

    def program(self, contexts):
        """Change the tables from this cycle on."""
        self.contexts = contexts

    async def cycle(self, offered=None, taken=ALL, base=12, limit=35):
        """Run one cycle; return the payloads that left, by port, and the codes of the last cycle's
        errors."""
        offered = offered or {}
        self._drive(offered, taken, base, limit)
        left, errors = self._compare(taken), self._compare_error()
        flat = {name: flatten(payload) for name, payload in offered.items()}
        assert self.ctx.get(self.dut.stores_drained) == self.model.stores_drained
        idle, drained = self.model.step(flat, set(taken), False, link_space=self.link_space)
        assert (self.ctx.get(self.dut.idle), self.ctx.get(self.dut.drained)) == (idle, drained)
        await self.ctx.tick()
        return left, errors

    def _drive(self, offered, taken, base, limit):
        ctx, dut = self.ctx, self.dut
        views = [view(tables, base, limit) for tables in self.contexts]
        if views != self._views:
            self._views = views
            ctx.set(dut.contexts, dut.contexts.shape().const(views))
            for number, one in enumerate(views):
                set_view(self.model.state, one, number)
        ctx.set(dut.link_space, self.link_space)
        for name in INPUTS:
            ctx.set(getattr(dut, name).valid, name in offered)
            if name in offered:
                ctx.set(getattr(dut, name).p, offered[name])
        for name in OUTPUTS:
            ctx.set(getattr(dut, name).ready, name in taken)

    def _compare(self, taken):
        """Compare the ports at the start of the cycle; return the payloads that leave."""
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
        assert ctx.get(dut.stored) == model.outputs[O.stored]
        assert ctx.get(dut.store_space) == model.outputs[O.store_space]
        assert ctx.get(dut.held_up) == model.held_up
        return left

    def _compare_error(self):
        """Compare the errors of the last cycle; return their codes."""
        codes = []
        for error, (failure, place) in zip(self.dut.errors, self.model.errors, strict=True):
            assert self.ctx.get(error.valid) == (failure != 0)
            if failure:
                found = self._report.unpack(self.ctx.get(error.report).as_bits())
                assert found == error_report(failure, place)
                codes.append(ErrorCode(found[0]))
        return codes

    async def drain(self, cycles=20):
        """Run some cycles; return all that left in them, and the errors."""
        left, errors = [], []
        for _ in range(cycles):
            ports, codes = await self.cycle()
            left += ports.items()
            errors += codes
        return left, errors


def simulate(p, bench):
    dut = device(Channel, p)

    async def run(ctx):
        channel = Bench(ctx, dut, p)
        await channel.cycle()  # drops acknowledgements: it is the first one after the reset
        await bench(channel)

    simulate_device(dut, run)


def store(dispatch_index, atom=1500, context=1, **fields):
    return {
        "kind": StoreKind.STORE,
        "atom": atom,
        "context": context,
        "dispatch_index": dispatch_index,
        "wavefront": 3,
        "tile_atoms": 9,
        "outer_edge": 1,
        "inner_edge": 0,
        "shares": 5,
    } | fields


def packet(slot, atom=1500, context=1, **fields):
    return {
        "kind": PacketKind.UPDATE,
        "atom": atom,
        "context": context,
        "slot": slot,
        "wavefront": 6,
        # Operation and type of the command for dispatch indices 10 to 29.
        "op": Operation.MIN,
        "dtype": Datatype.FP32,
    } | fields


def end(slot, tile_atoms=300, edges=(0, 1), shares=33, **fields):
    """Return an END packet."""
    p = TIMING
    content = tile_atoms | (edges[0] | edges[1] << 1 | shares << 2) << p.tile_atom_bits
    return packet(slot, **{"kind": PacketKind.END, "atom": content} | fields)


def has(payload, fields):
    """Return whether a payload has these values."""
    return all(payload[name] == value for name, value in fields.items())
