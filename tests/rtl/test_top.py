import random
from collections import Counter, deque
from dataclasses import replace

import pytest
from amaranth.hdl import Const, Value
from amaranth.lib.wiring import In
from amaranth.sim import Simulator
from register_bus import read, write

from rtl import register_map
from rtl.encodings import (
    Access,
    Action,
    Datatype,
    ErrorCode,
    Operation,
    Origin,
    PacketKind,
    StoreKind,
)
from rtl.parameters import T3Parameters
from rtl.top import T3

P = T3Parameters(
    channels=2,
    system_channels=2,
    interleave_atoms=2,
    sets=8,
    ways=4,
    banks=2,
    window_workgroups=8,
    command_depth=8,
    egress_slots=8,
)
MAP = register_map.load()

# A kernel of four workgroups. Each writes two rows of eight atoms, a wavefront four of each row.
FIRST, WORKGROUPS = 1, 4
ROWS, RUN, PITCH, WAVE = 2, 8, 32, 4
WINDOW, OFFSET = 1024, 4096
LATENCY = 9
PROGRAM = [
    ("FIRST_WORKGROUP", {"workgroup": FIRST}),
    ("WORKGROUPS", {"count": WORKGROUPS}),
    ("TRACKED_FIRST", {"place": 1}),
    ("TRACKED_END", {"place": 4}),
    ("SHIFT", {"places": 1}),
    ("WINDOW", {"workgroups": 4}),
    ("COMMAND_WINDOW", {"workgroups": 8}),
    ("WINDOW_BASE_LO", {"bytes": WINDOW * 32}),
    ("WINDOW_LIMIT_LO", {"bytes": (WINDOW + 256) * 32}),
    ("WINDOW_CONTEXT", {"context": 3}),
    ("WINDOW_COMMIT", {"index": 0, "enable": 1}),
    ("RANGE_PLACES", {"first": 0, "last": 0}),
    ("RANGE_ACTION", {"window": 0, "action": Action.REMOTE.value, "command": 0}),
    ("RANGE_COMMIT", {"index": 0, "enable": 1}),
    ("RANGE_PLACES", {"first": 1, "last": 2}),
    ("RANGE_ACTION", {"window": 0, "action": Action.DMA.value, "command": 0}),
    ("RANGE_COMMIT", {"index": 1, "enable": 1}),
    ("RANGE_PLACES", {"first": 3, "last": 3}),
    ("RANGE_ACTION", {"window": 0, "action": Action.OWN.value, "command": 0}),
    ("RANGE_COMMIT", {"index": 2, "enable": 1}),
    (
        "COMMAND_TRANSFER",
        {
            "kind": PacketKind.UPDATE.value,
            "op": Operation.MAX.value,
            "dtype": Datatype.FP32.value,
            "context": 5,
            "granularity": 1,
            "wave_run_log2": 2,
            "waves_minor_log2": 1,
        },
    ),
    ("COMMAND_ROWS", {"rows": ROWS}),
    ("COMMAND_RUN", {"run": RUN}),
    ("COMMAND_PITCH", {"pitch": PITCH}),
    ("COMMAND_WAVES", {"wave_rows": ROWS, "waves0": 2}),
    ("COMMAND_OFFSET_LO", {"bytes": OFFSET * 32}),
    ("COMMAND_COMMIT", {"index": 0}),
]


def word_of(register, fields):
    return sum(fields.get(field.name, 0) << field.low for field in MAP[register].fields)


async def program(ctx, dut, registers):
    for register, fields in registers:
        address = MAP[register].address
        assert await write(ctx, dut, address, word_of(register, fields)) == 0, register


async def launch(ctx, dut):
    await program(ctx, dut, [*PROGRAM, ("CONTROL", {"launch": 1})])


async def status(ctx, dut, register):
    """Fields of a register."""
    word, response = await read(ctx, dut, MAP[register].address)
    assert response == 0
    return {f.name: word >> f.low & (1 << f.width) - 1 for f in MAP[register].fields}


def channel_number(atom):
    """Of two channels: the parity of the bits above the interleave."""
    return (atom // P.interleave_atoms).bit_count() % 2


def atoms_of(workgroup):
    """Atoms and wavefronts of a workgroup's tile, in the order of the walk."""
    start = WINDOW + 2 + (workgroup % 2) * RUN + (workgroup // 2) * ROWS * PITCH
    return [
        (start + row * PITCH + index, index // WAVE) for row in range(ROWS) for index in range(RUN)
    ]


class Memory:
    """The DRAM of one channel: serves in order, some cycles later."""

    def __init__(self, port):
        self.port, self.waiting, self.notices = port, deque(), deque()
        self.seen = Counter()

    def drive(self, ctx, cycle):
        """Set the inputs of this cycle, and take what is offered."""
        port = self.port
        ctx.set(port.returns.valid, 0)
        due = self.waiting and self.waiting[0][0] <= cycle
        if due and self.waiting[0][1].access == Access.READ:
            ctx.set(port.returns.p.slot, self.waiting.popleft()[1].tag)
            ctx.set(port.returns.valid, 1)
        elif due:
            self.notices.append(self.waiting.popleft()[1])
        ctx.set(port.notices.valid, bool(self.notices))
        if self.notices:
            notice = self.notices[0]
            fields = ("access", "atom", "place", "wavefront")
            ctx.set(port.notices.p, {name: getattr(notice, name) for name in fields})
            if ctx.get(port.notices.ready):
                self.notices.popleft()
        ctx.set(port.dram.ready, 1)
        if ctx.get(port.dram.valid):
            request = ctx.get(port.dram.p)
            self.waiting.append((cycle + LATENCY, request))
            self.seen[request.access, request.origin, request.atom] += 1


def simulate(bench, p=P):
    dut = T3(p)
    sim = Simulator(dut)
    sim.add_clock(1e-9)

    async def run(ctx):
        await bench(ctx, dut)

    sim.add_testbench(run)
    sim.run()


def store(atom, workgroup, wavefront, *, end=False):
    return {
        "kind": StoreKind.TILE_END if end else StoreKind.STORE,
        "atom": atom,
        "context": 3,
        "workgroup": workgroup,
        "wavefront": wavefront,
        "sectors": ROWS * WAVE,
    }


def packet(atom, workgroup, wavefront):
    return {
        "kind": PacketKind.UPDATE,
        "atom": atom,
        "context": 3,
        "workgroup": workgroup,
        "wavefront": wavefront,
        "op": Operation.MAX,
        "dtype": Datatype.FP32,
    }


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 1"):
        T3(1)


def test_reduce_scatter_of_four_workgroups():
    """From the stores and the neighbour's packets to the packets that leave, and to done."""
    order = [(FIRST + place) % WORKGROUPS for place in range(WORKGROUPS)]
    stores = [deque() for _ in range(P.channels)]
    packets = [deque() for _ in range(P.channels)]
    for place, workgroup in enumerate(order):
        tile = atoms_of(workgroup)
        for atom, wavefront in tile:
            stores[channel_number(atom)].append(store(atom, workgroup, wavefront))
            if place:
                packets[channel_number(atom)].append(packet(atom, workgroup, wavefront))
        for wavefront in range(RUN // WAVE):
            atom = tile[wavefront * WAVE][0]
            stores[channel_number(atom)].append(store(atom, workgroup, wavefront, end=True))
    sent = [[] for _ in range(P.channels)]

    async def bench(ctx, dut):
        assert (await status(ctx, dut, "STATUS"))["clearing"]
        await launch(ctx, dut)
        ctx.set(dut.limit_in, 100)
        while (await status(ctx, dut, "STATUS"))["clearing"]:
            pass
        assert ctx.get(dut.idle)
        assert not ctx.get(dut.done)
        assert ctx.get(dut.limit_out) == 1 + 4
        memories = [Memory(port) for port in dut.channel]
        busy = False
        for cycle in range(300):
            for index, port in enumerate(dut.channel):
                memories[index].drive(ctx, cycle)
                for stream, queue in ((port.stores, stores[index]), (port.link_in, packets[index])):
                    ctx.set(stream.valid, bool(queue))
                    if queue:
                        ctx.set(stream.p, queue[0])
                        if ctx.get(stream.ready):
                            queue.popleft()
                ctx.set(port.link_out.ready, 1)
                if ctx.get(port.link_out.valid):
                    sent[index].append(ctx.get(port.link_out.p))
            busy |= not ctx.get(dut.idle)
            await ctx.tick()
            if ctx.get(dut.done) and ctx.get(dut.idle) and cycle > 250:
                break
        assert busy
        assert ctx.get(dut.done)
        assert ctx.get(dut.idle)
        assert not ctx.get(dut.irq)
        assert ctx.get(dut.tiles) == 6
        assert (await status(ctx, dut, "TILES"))["count"] == 6
        assert (await status(ctx, dut, "BASE"))["place"] == 4
        assert (await status(ctx, dut, "STATUS")) == {
            "done": 1,
            "idle": 1,
            "error": 0,
            "clearing": 0,
            "refusal": 0,
        }
        for index, memory in enumerate(memories):
            check_memory(index, memory.seen)

    def check_memory(index, seen):
        expected = Counter()
        for place, workgroup in enumerate(order):
            for atom, _ in atoms_of(workgroup):
                if channel_number(atom) == index and place:
                    expected[Access.UPDATE, Origin.COMPUTE, atom] += 1
                    expected[Access.UPDATE, Origin.COMMUNICATION, atom] += 1
                if channel_number(atom) == index and place in (1, 2):
                    expected[Access.READ, Origin.COMMUNICATION, atom] += 1
        assert seen == expected

    simulate(bench)
    for index in range(P.channels):
        for place in range(3):
            workgroup = order[place]
            got = [(p.atom - OFFSET, p.wavefront) for p in sent[index] if p.workgroup == workgroup]
            # A DMA sends in the order of its walk, and the stores came in that order as well.
            assert got == [a for a in atoms_of(workgroup) if channel_number(a[0]) == index]
        assert {p.workgroup for p in sent[index]} == set(order[:3])
        for p in sent[index]:
            assert (p.kind, p.context) == (PacketKind.UPDATE, 5)
            assert (p.op, p.dtype) == (Operation.MAX, Datatype.FP32)


def test_copy():
    """A copy that software starts is read and sent, and idle tells when it is over."""

    async def bench(ctx, dut):
        await launch(ctx, dut)
        copies = [("COPY_START_LO", {"bytes": 6 * 32}), ("COPY", {"command": 0})]
        await program(ctx, dut, copies)
        memories = [Memory(port) for port in dut.channel]
        sent, idle = [], []
        for cycle in range(80):
            for index, port in enumerate(dut.channel):
                memories[index].drive(ctx, cycle)
                ctx.set(port.link_out.ready, 1)
                if ctx.get(port.link_out.valid):
                    sent.append(ctx.get(port.link_out.p.atom) - OFFSET)
            idle.append(ctx.get(dut.idle))
            await ctx.tick()
        assert sorted(sent) == [6 + row * PITCH + i for row in range(ROWS) for i in range(RUN)]
        assert not idle[0] and idle[-1]
        assert sorted(idle) == idle

    simulate(bench)


async def offer(ctx, **streams):
    """One cycle in which the streams have a payload."""
    for stream, payload in streams.values():
        ctx.set(stream.p, payload)
        ctx.set(stream.valid, 1)
    await ctx.tick()
    for stream, _ in streams.values():
        ctx.set(stream.valid, 0)


# Streams that fault in one cycle, and the code and wavefront that are reported.
FAULTS = [
    (["packet 1", "packet 0"], (ErrorCode.PACKET_AHEAD, 0)),
    (["packet 1", "store 1"], (ErrorCode.STORE_AHEAD, 6)),
    (["store 1", "packet 0"], (ErrorCode.PACKET_AHEAD, 0)),
    (["store 0", "packet 0", "store 1"], (ErrorCode.STORE_AHEAD, 5)),
    (["packet 1"], (ErrorCode.PACKET_AHEAD, 1)),
]


def test_first_error_of_a_cycle():
    """Channels lowest first, a store's before a packet's."""

    async def bench(ctx, dut):
        few = [("WINDOW", {"workgroups": 0}), ("CONTROL", {"launch": 1})]
        await program(ctx, dut, [*PROGRAM, *few])
        for faults, (code, wavefront) in FAULTS:
            await program(ctx, dut, [("CONTROL", {"clear_error": 1})])
            await ctx.tick()
            assert not ctx.get(dut.irq)
            streams = {}
            for index, port in enumerate(dut.channel):
                # Wavefronts tell the offenders apart.
                if f"store {index}" in faults:
                    streams[f"store {index}"] = (port.stores, store(WINDOW, 2, 5 + index))
                if f"packet {index}" in faults:
                    streams[f"packet {index}"] = (port.link_in, packet(WINDOW, 2, index))
            await offer(ctx, **streams)
            for _ in range(3):
                await ctx.tick()
            assert ctx.get(dut.irq)
            error = await status(ctx, dut, "ERROR")
            # A packet's place is its workgroup.
            place = 2 if wavefront < 5 else 1
            assert error == {"code": code.value, "wavefront": wavefront, "place": place}, faults
            assert (await status(ctx, dut, "ERRORS"))["count"] == 1

    simulate(bench)


def test_errors_are_counted_one_cycle_later():
    """A store at the queue's head in *t*: the report in *t + 1*, and the interrupt behind it."""

    async def bench(ctx, dut):
        few = [("WINDOW", {"workgroups": 0}), ("CONTROL", {"launch": 1})]
        await program(ctx, dut, [*PROGRAM, *few])
        port = dut.channel[1]
        ctx.set(port.stores.p, store(WINDOW, 2, 5))
        ctx.set(port.stores.valid, 1)
        await ctx.tick()
        for _ in range(2):
            assert not ctx.get(dut.irq)
            await ctx.tick()
        ctx.set(port.stores.valid, 0)
        assert ctx.get(dut.irq)
        await ctx.tick().repeat(4)
        # Every one of the three in its own cycle.
        assert (await status(ctx, dut, "ERRORS"))["count"] == 3

    simulate(bench)


def test_error_of_a_channel_before_a_timeout():
    """A store that is dropped in the cycle of a timeout hides it, and only then."""
    timeout = [("TIMEOUT", {"cycles": 60}), ("CONTROL", {"clear_error": 1, "launch": 1})]

    async def bench(ctx, dut):
        await launch(ctx, dut)

        async def errors(offered):
            """Until a timeout, with a store beyond the window in a cycle; what is reported."""
            await program(ctx, dut, timeout)
            cycles = 0
            while cycles < 70 and not (offered is None and ctx.get(dut.irq)):
                ctx.set(dut.channel[1].stores.p, store(WINDOW, 2, 5))
                ctx.set(dut.channel[1].stores.valid, cycles == offered)
                await ctx.tick()
                cycles += 1
            code = (await status(ctx, dut, "ERROR"))["code"]
            return cycles, code, (await status(ctx, dut, "ERRORS"))["count"]

        await program(ctx, dut, [("WINDOW", {"workgroups": 0})])
        pending, code, _ = await errors(None)
        assert code == ErrorCode.TIMEOUT.value
        reports = [(await errors(pending - 3 + delta))[1:] for delta in (-1, 0, 1)]
        ahead = ErrorCode.STORE_AHEAD.value
        assert reports == [
            (ahead, 2),
            (ahead, 1),
            (ErrorCode.TIMEOUT.value, 2),
        ]

    simulate(bench)


def test_a_neighbour_that_takes_nothing_is_a_timeout():
    """All tiles are complete, a packet waits: reported after the programmed time, till it is taken.

    One that is taken in another channel starts the time anew.
    """
    timeout = 20
    registers = [("TRACKED_END", {"place": 1}), ("TIMEOUT", {"cycles": timeout})]
    remote = store(WINDOW, FIRST, 0)  # of place 0, which is not tracked here
    stuck, other = (
        remote | {"atom": next(atom for atom, _ in atoms_of(FIRST) if channel_number(atom) == c)}
        for c in range(2)
    )

    async def bench(ctx, dut):
        await program(ctx, dut, [*PROGRAM, *registers, ("CONTROL", {"launch": 1})])
        ctx.set(dut.channel[1].link_out.ready, 1)
        await ctx.tick().repeat(3 * timeout)
        assert ctx.get(dut.done) and not ctx.get(dut.irq)
        await offer(ctx, store=(dut.channel[0].stores, stuck))
        while not ctx.get(dut.channel[0].link_out.valid):
            await ctx.tick()
        await ctx.tick().repeat(timeout // 2)
        await offer(ctx, store=(dut.channel[1].stores, other))
        while not ctx.get(dut.channel[1].link_out.valid):
            await ctx.tick()
        cycles = 0
        while not ctx.get(dut.irq):
            cycles += 1
            await ctx.tick()
        assert timeout < cycles < timeout + 6
        error = await status(ctx, dut, "ERROR")
        assert error == {"code": ErrorCode.TIMEOUT.value, "wavefront": 0, "place": 1}
        ctx.set(dut.channel[0].link_out.ready, 1)
        await ctx.tick().repeat(timeout)
        await program(ctx, dut, [("CONTROL", {"clear_error": 1})])
        await ctx.tick().repeat(3 * timeout)
        assert ctx.get(dut.idle) and not ctx.get(dut.irq)

    simulate(bench)


def test_tracker_error_and_timeout():
    async def bench(ctx, dut):
        await launch(ctx, dut)
        while (await status(ctx, dut, "STATUS"))["clearing"]:
            pass
        end = store(WINDOW, 2, 1, end=True) | {"sectors": 0}
        await offer(ctx, end=(dut.channel[0].stores, end))
        for _ in range(8):
            await ctx.tick()
        error = await status(ctx, dut, "ERROR")
        assert error == {"code": ErrorCode.ZERO_THRESHOLD.value, "wavefront": 1, "place": 1}
        await program(ctx, dut, [("CONTROL", {"clear_error": 1})])
        await ctx.tick()
        assert not ctx.get(dut.irq)
        await program(ctx, dut, [("TIMEOUT", {"cycles": 100}), ("CONTROL", {"launch": 1})])
        for _ in range(110):
            await ctx.tick()
        error = await status(ctx, dut, "ERROR")
        assert error == {"code": ErrorCode.TIMEOUT.value, "wavefront": 0, "place": 1}

    simulate(bench)


@pytest.mark.parametrize("payload", [False, True])
def test_no_combinational_path(payload):
    """Whatever changes at the inputs within a cycle, no output does."""
    p = replace(P, channels=1, payload=True) if payload else P
    rng = random.Random(11)
    moved = Counter()

    async def bench(ctx, dut):
        ports = [
            (path, member.flow, Value.cast(value))
            for path, member, value in dut.signature.flatten(dut)
            if not isinstance(value, Const)
        ]
        inputs = [value for _, flow, value in ports if flow is In]
        outputs = {path: value for path, flow, value in ports if flow is not In}
        assert len(inputs) > 20 and len(outputs) > 20
        await launch(ctx, dut)
        before = {path: ctx.get(value) for path, value in outputs.items()}
        for _ in range(100):
            for _ in range(2):
                for value in inputs:
                    ctx.set(value, rng.getrandbits(len(value)))
                # Traffic that goes all the way through.
                for port in dut.channel:
                    ctx.set(port.stores.p, store(WINDOW, rng.choice([1, 2]), 0))
                    ctx.set(port.link_in.p, packet(WINDOW, rng.choice([2, 3]), 0))
                assert {path: ctx.get(value) for path, value in outputs.items()} == before
            await ctx.tick()
            after = {path: ctx.get(value) for path, value in outputs.items()}
            moved.update(path for path in outputs if after[path] != before[path])
            before = after

    simulate(bench, p)
    channel = {path[2:] for path in moved if path[0] == "channel"}
    assert {("dram", "valid"), ("link_out", "valid"), ("stored",)} <= channel
    assert {("reads", "ready"), ("stores", "ready"), ("link_in", "ready")} <= channel
