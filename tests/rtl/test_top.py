import random
from collections import Counter, deque
from dataclasses import replace

import pytest
from amaranth.hdl import Const, Value
from amaranth.lib.wiring import In

from driver.python import DOWNSTREAM
from rtl.interface.encodings import (
    Access,
    Datatype,
    ErrorCode,
    Operation,
    Origin,
    PacketKind,
)
from rtl.top import T3
from tests.support.top_bench import (
    OFFSET,
    ORDER,
    REGION,
    ROWS,
    RUN,
    SHIFT,
    STRIDE,
    Memory,
    P,
    admit,
    atoms_of,
    channel_number,
    end_packet,
    launch,
    packet,
    peers_of,
    program,
    rank_of,
    simulate,
    status,
    store,
    traffic,
)


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 1"):
        T3(1)


def drive(ctx, port, stores, packets, sent):
    """Drive one cycle of a channel's stores and link."""
    for stream, queue in ((port.stores, stores), (port.link_in, packets)):
        ctx.set(stream.valid, bool(queue))
        if queue:
            ctx.set(stream.p, queue[0])
            if ctx.get(stream.ready):
                queue.popleft()
    ctx.set(port.link_out.ready, 1)
    if ctx.get(port.link_out.valid):
        sent.append(ctx.get(port.link_out.p))


def accesses(channel):
    """Accesses of a channel's memory: remote, two DMA commands, and one that stays."""
    expected = Counter()
    for dispatch_index, tile in enumerate(ORDER):
        for atom, _ in atoms_of(tile):
            if channel_number(atom) == channel and dispatch_index:
                expected[Access.UPDATE, Origin.COMPUTE, atom] += 1
                expected[Access.UPDATE, Origin.COMMUNICATION, atom] += 1
            if channel_number(atom) == channel and dispatch_index in (1, 2):
                expected[Access.READ, Origin.COMMUNICATION, atom] += 1
    return expected


def check_sent(sent, channel):
    """A DMA sends each row in its order, several at a time; the stores came in order as well.
    Packets have the tile's slot at the receiver."""
    slots = [dispatch_index + SHIFT for dispatch_index in range(3)]
    for dispatch_index, slot in enumerate(slots):
        got = [(p.atom - OFFSET, p.wavefront) for p in sent if p.slot == slot]
        tile = atoms_of(ORDER[dispatch_index])
        rows = [tile[at : at + RUN] for at in (0, RUN)] if dispatch_index else [tile]
        for row in rows:
            expected = [a for a in row if channel_number(a[0]) == channel]
            assert [a for a in got if a in row] == expected
        assert len(got) == len([a for a in tile if channel_number(a[0]) == channel])
    assert {p.slot for p in sent} == set(slots)
    peer = peers_of(0)[DOWNSTREAM]
    for p in sent:
        assert (p.kind, p.context) == (PacketKind.UPDATE, peer.space)
        assert (p.destination, p.source) == (peer.gpu, rank_of(0))
        assert (p.op, p.dtype) == (Operation.MAX, Datatype.FP32)


async def check_end(ctx, dut):
    assert ctx.get(dut.context[0].done)
    assert ctx.get(dut.context[0].idle)
    assert not ctx.get(dut.context[0].irq)
    assert ctx.get(dut.context[0].tiles) == 6
    assert (await status(ctx, dut, "TILES"))["count"] == 6
    assert (await status(ctx, dut, "OLDEST"))["dispatch_index"] == 4
    assert (await status(ctx, dut, "STATUS")) == {
        "done": 1,
        "idle": 1,
        "error": 0,
        "aborting": 0,
        "pending": 0,
        "running": 0,
        "aborted": 0,
        "configuration_error": 0,
    }


def test_reduce_scatter_of_four_workgroups():
    """A launch runs from the stores and the neighbour's packets to the packets that leave, and to
    done."""
    stores, packets = traffic()
    sent = [[] for _ in range(P.channels)]

    async def bench(ctx, dut):
        assert (await status(ctx, dut, "STATUS"))["aborting"]
        await launch(ctx, dut)
        admit(ctx, dut.context[0], 100)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.context[0].idle)
        assert not ctx.get(dut.context[0].done)
        assert ctx.get(dut.context[0].credit_limit_out) == 1 + 4
        memories = [Memory(port) for port in dut.channel]
        busy = False
        for cycle in range(300):
            for index, port in enumerate(dut.channel):
                memories[index].drive(ctx, cycle)
                drive(ctx, port, stores[index], packets[index], sent[index])
            busy |= not ctx.get(dut.context[0].idle)
            await ctx.tick()
            if ctx.get(dut.context[0].done) and ctx.get(dut.context[0].idle) and cycle > 250:
                break
        assert busy
        await check_end(ctx, dut)
        for index, memory in enumerate(memories):
            assert memory.seen == accesses(index)

    simulate(bench)
    for index in range(P.channels):
        check_sent(sent[index], index)


async def copy(ctx, dut, first):
    """Start a copy and run it for a while. Return the sent atoms. Idle and an interrupt signal its
    end, after its last packet has left a slow link."""
    await launch(ctx, dut, [("INTERRUPT_ENABLE", {"copy": 1, "error": 0})])
    copies = [
        ("COPY_START_LO", {"bytes": first * 32}),
        ("COPY", {"command": 0, "peers": 1 << DOWNSTREAM}),
    ]
    await program(ctx, dut, copies)
    memories = [Memory(port) for port in dut.channel]
    sent, idle, interrupts, last = [], [], [], 0
    for cycle in range(120):
        takes = cycle % 4 == 0
        for index, port in enumerate(dut.channel):
            memories[index].drive(ctx, cycle)
            ctx.set(port.link_out.ready, takes)
            if ctx.get(port.link_out.valid) and takes:
                sent.append(ctx.get(port.link_out.p.atom) - OFFSET)
                last = cycle
        idle.append(ctx.get(dut.context[0].idle))
        interrupts.append(ctx.get(dut.context[0].irq))
        await ctx.tick()
    assert not idle[0] and idle[-1]
    assert sorted(idle) == idle
    # Two registers lie between a port and either.
    for end in (idle, interrupts):
        assert not any(end[: last + 1]) and all(end[last + 5 if sent else -1 :])
    return sorted(sent)


def test_copy():
    """A copy that software starts is read and sent, and idle signals its end."""

    async def bench(ctx, dut):
        first = REGION + 6
        rows = [first + row * STRIDE + i for row in range(ROWS) for i in range(RUN)]
        assert await copy(ctx, dut, first) == rows
        assert (await status(ctx, dut, "ERRORS"))["count"] == 0

    simulate(bench)


@pytest.mark.parametrize(
    ("first", "rows"),
    [(REGION + 256 - RUN, (0,)), (REGION - STRIDE, (1,)), (6, ())],
    ids=["over its end", "before its beginning", "elsewhere"],
)
def test_copy_outside_its_region(first, rows):
    """Atoms in the region are sent; the rest is never read, but reported, and the copy ends."""

    async def bench(ctx, dut):
        inside = [first + row * STRIDE + i for row in rows for i in range(RUN)]
        assert await copy(ctx, dut, first) == inside
        error = await status(ctx, dut, "ERROR")
        assert ErrorCode(error["code"]) == ErrorCode.DMA_OUT_OF_REGION
        # A segment has the interleave's two atoms, and each row has its own walker.
        assert (await status(ctx, dut, "ERRORS"))["count"] == RUN // P.interleave_atoms

    simulate(bench)


def test_tile_over_the_end_of_its_region():
    """A kernel that stores to the last atom of its buffer alone: that is read and sent, and nothing
    beyond it, which the walk would come to."""
    last, dispatch_index = REGION + 255, 1
    port_number = channel_number(last)

    async def bench(ctx, dut):
        waves = ("COMMAND_WAVES", {"wave_outer_extent": ROWS, "waves0": 1})
        await launch(ctx, dut, [waves, ("COMMAND_COMMIT", {"index": 0})])
        admit(ctx, dut.context[0], 100)
        memories, sent = [Memory(port) for port in dut.channel], []
        port = dut.channel[port_number]
        mark = store(last, dispatch_index, 0, end=True) | {"tile_atoms": 1}
        stores, packets = deque([store(last, dispatch_index, 0), mark]), deque([])
        packets += [packet(last, dispatch_index, 0), end_packet(dispatch_index, 0, 1)]
        for cycle in range(120):
            for memory in memories:
                memory.drive(ctx, cycle)
            drive(ctx, port, stores, packets, sent)
            await ctx.tick()
        assert [one.atom for one in sent] == [last + OFFSET]
        reads = [
            access for memory in memories for access in memory.seen if access[0] == Access.READ
        ]
        assert reads == [(Access.READ, Origin.COMMUNICATION, last)]
        assert ctx.get(dut.context[0].idle)
        error = await status(ctx, dut, "ERROR")
        assert ErrorCode(error["code"]) == ErrorCode.DMA_OUT_OF_REGION
        assert error["dispatch_index"] == dispatch_index

    simulate(bench)


@pytest.mark.parametrize("with_data", [False, pytest.param(True, marks=pytest.mark.verify)])
def test_no_combinational_path(with_data):
    """No output changes within a cycle, whatever the inputs do."""
    p = replace(P, channels=1, with_data=True) if with_data else P
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
        # Otherwise a stopped clock would be detected too late.
        pages = [dut.registers.gpu_page, *dut.registers.pages]
        outputs |= {
            ("clock_enable", number): page.clock_enable for number, page in enumerate(pages)
        }
        await launch(ctx, dut)
        before = {path: ctx.get(value) for path, value in outputs.items()}
        for _ in range(100):
            for _ in range(2):
                for value in inputs:
                    ctx.set(value, rng.getrandbits(len(value)))
                # Traffic that passes through the whole hardware.
                for port in dut.channel:
                    ctx.set(port.stores.p, store(REGION, rng.choice([0, 1]), 0))
                    ctx.set(port.link_in.p, packet(REGION, rng.choice([1, 2]), 0))
                assert {path: ctx.get(value) for path, value in outputs.items()} == before
            await ctx.tick()
            after = {path: ctx.get(value) for path, value in outputs.items()}
            moved.update(path for path in outputs if after[path] != before[path])
            before = after

    simulate(bench, p)
    channel = {path[2:] for path in moved if path[0] == "channel"}
    assert {("dram", "valid"), ("link_out", "valid"), ("stored",)} <= channel
    assert {("reads", "ready"), ("stores", "ready"), ("link_in", "ready")} <= channel


def test_idle_from_the_first_store_to_the_last_packet():
    """The context is not idle wherever a tile is: in a queue, at the DRAM, in the tracker, in the
    trigger unit or in a DMA engine.
    """
    stores, packets = traffic()
    sent = [[] for _ in range(P.channels)]

    async def bench(ctx, dut):
        await launch(ctx, dut)
        admit(ctx, dut.context[0], 100)
        memories = [Memory(port) for port in dut.channel]
        idle, left = [], []
        for cycle in range(300):
            before = sum(map(len, sent))
            for index, port in enumerate(dut.channel):
                memories[index].drive(ctx, cycle)
                # The other workgroups, long after the end of the first.
                late = cycle > 100
                names = ("dispatch_index", "slot")
                queues = stores[index], packets[index]
                mine = [
                    deque(item for item in queue if late or item[name] < 2)
                    for queue, name in zip(queues, names, strict=True)
                ]
                drive(ctx, port, *mine, sent[index])
                for queue, name, rest in zip(queues, names, mine, strict=True):
                    others = [item for item in queue if not late and item[name] >= 2]
                    queue.clear()
                    queue.extend([*rest, *others])
            idle.append(ctx.get(dut.context[0].idle))
            if sum(map(len, sent)) > before:
                left.append(cycle)
            await ctx.tick()
        last = max(cycle for cycle in left if cycle < 100)
        # Two registers lie between a port and the output.
        assert idle[:2] == [1, 1] and not any(idle[2 : last + 1])
        assert all(idle[last + 2 : 102])
        assert not any(idle[103 : left[-1] + 1]) and all(idle[left[-1] + 2 :])

    simulate(bench)


def test_idle_while_a_store_cannot_leave():
    """While the DRAM accepts nothing, a waiting update counts as work, a waiting ordinary write
    does not.
    """

    async def bench(ctx, dut):
        await launch(ctx, dut)
        port = dut.channel[0]
        for atom, is_idle in ((0, 1), (REGION + 2, 0)):
            ctx.set(port.stores.p, store(atom, 1, 0))
            ctx.set(port.stores.valid, 1)
            await ctx.tick()
            ctx.set(port.stores.valid, 0)
            await ctx.tick().repeat(40)
            assert ctx.get(dut.context[0].idle) == is_idle

    simulate(bench)
