"""Three fully connected GPUs, each with a fabric and ports: direct reduce-scatter, and attacks."""

from dataclasses import replace

import pytest

from rtl.interface.encodings import ErrorCode
from tb.link_endpoint.dut import LINK
from tb.link_endpoint.wire import CLEAN, Faults
from tests.support.mesh_bench import GPUS, Direct, simulate
from tests.support.top_bench import abort, program, status

VERIFY = pytest.mark.verify
WORKS = [Direct(number=number, generation=3 + 6 * number) for number in range(2)]
FAULTY = Faults(lose=0.03, repeat=0.1, corrupt=0.03, late=0.1, straggle=20, busy=0.1)
ABSENT = 100  # a GPU that no port has
SESSION = 6 * LINK.lifetime_cycles  # most cycles until a session is open


async def take_errors(ctx, gpu, context):
    """Return code, source and channel of each error in the log of a context, and drop them."""
    taken = []
    while code := (await status(ctx, gpu.dut, "ERROR", context))["code"]:
        place = await status(ctx, gpu.dut, "ERROR_LOCATION", context)
        taken.append((ErrorCode(code), place["source"], place["channel"]))
        await program(ctx, gpu.dut, [("CONTROL", {"drop_error": 1})], context)
    return taken


async def set_links(ctx, gpu, off):
    """Take links of a GPU down, or none."""
    await program(ctx, gpu.dut, [("LINK_OFF", {"links": off})])


async def abort_all(ctx, mesh, *works):
    """Abort the launches on all GPUs; each abort ends, and leaves nothing."""
    for gpu in mesh.gpus:
        for work in works:
            gpu.drop(work.number)
            await abort(ctx, gpu.dut, work.number)
            assert (await status(ctx, gpu.dut, "STATUS", work.number))["idle"]


@pytest.mark.parametrize(
    ("seed", "faults", "chunk"),
    [(1, FAULTY, 1), pytest.param(2, CLEAN, 2, marks=VERIFY)],
)
def test_direct_reduce_scatter(seed, faults, chunk):
    """Both contexts scatter to all GPUs at once. Every packet finds its GPU and its channel, once,
    and nothing is reported."""
    works = [Direct(number=n, generation=3 + 6 * n, chunk=chunk) for n in range(2)]

    async def bench(ctx, mesh):
        for number in range(GPUS):
            for work in works:
                await mesh.launch(ctx, number, work)
        await mesh.finish(ctx, *works)
        mesh.check(*works)
        for gpu in mesh.gpus:
            assert ctx.get(gpu.dut.context[0].tiles) == 2 * chunk
            for context in range(2):
                assert not await take_errors(ctx, gpu, context)
            assert (await status(ctx, gpu.dut, "GPU_ERRORS"))["count"] == 0

    simulate(bench, seed, faults=faults)


@VERIFY
def test_flood_to_a_down_port():
    """Attack: on GPU 0 a tenant floods the port to GPU 1, which is down, and heeds no limit. The
    other tenant's reduce-scatter with GPU 2 ends as if it were alone; the attacker gets one report,
    its launch can be aborted, and its packets are gone."""
    flood = Direct(number=1, generation=3, members=(0, 1), chunk=8)
    work = Direct(number=0, generation=3, members=(0, 2))

    async def bench(ctx, mesh):
        attacker = mesh.gpus[0]
        await set_links(ctx, attacker, 0b01)
        attacker.careless.add(1)
        for number in flood.members:
            await mesh.launch(ctx, number, flood)
        for number in work.members:
            await mesh.launch(ctx, number, work)
        await mesh.finish(ctx, work)
        mesh.check(work)
        assert not await take_errors(ctx, attacker, 0)
        await ctx.tick().repeat(400)
        assert await take_errors(ctx, attacker, 1) == [(ErrorCode.PORT_DOWN, 1, 0)]
        assert (await status(ctx, attacker.dut, "COUNT_PORT_DOWN", 1))["count"] == 1
        await abort_all(ctx, mesh, flood)
        # Nothing of before is sent when the port comes up.
        await set_links(ctx, attacker, 0)
        before = mesh.gpus[1].seen(flood)
        await ctx.tick().repeat(SESSION)
        assert mesh.gpus[1].seen(flood) == before

    simulate(bench, 3)


@VERIFY
def test_forged_destination():
    """Attack: a table of peers names a GPU that no port has. The packets are dropped, and reported
    once for each launch, with the number of this GPU; the other tenant goes on."""
    forged = Direct(number=1, generation=3, members=(0, 1), forged=((1, ABSENT),))

    async def bench(ctx, mesh):
        gpu = mesh.gpus[0]
        for generation in (3, 4):
            for number in forged.members:
                await mesh.launch(ctx, number, replace(forged, generation=generation))
            await ctx.tick().repeat(800)
            assert await take_errors(ctx, gpu, 1) == [(ErrorCode.PORT_DOWN, ABSENT, 0)]
            assert not ctx.get(mesh.gpus[1].dut.context[1].done)  # which gets nothing
            await abort_all(ctx, mesh, forged)
        for number in range(GPUS):
            await mesh.launch(ctx, number, WORKS[0])
        await mesh.finish(ctx, WORKS[0])
        mesh.check(WORKS[0])

    simulate(bench, 4)


async def next_frame(ctx, send):
    """Wait until a frame of several flits has begun."""
    for _ in range(2000):
        await ctx.tick()
        if ctx.get(send.valid & send.p.first & ~send.p.last):
            return
    raise AssertionError("No frame of several flits")


@VERIFY
@pytest.mark.parametrize("dark_cycles", [1, 3 * LINK.down_cycles])
def test_port_down_inside_a_frame(dark_cycles):
    """Attack: the wires of a port fail inside a frame, for one cycle or for long. Each GPU counts
    what it needs and sees no wrong access; contexts that lost packets report it; both sides
    begin a new session; after an abort on all GPUs the next launch is right."""

    async def bench(ctx, mesh):
        for number in range(GPUS):
            for work in WORKS:
                await mesh.launch(ctx, number, work)
        wires = mesh.links[0].wires[0]
        await next_frame(ctx, wires.send)
        ctx.set(wires.down, 1)
        await ctx.tick().repeat(dark_cycles)
        ctx.set(wires.down, 0)
        await ctx.tick().repeat(2 * SESSION)
        found = [await take_errors(ctx, mesh.gpus[0], context) for context in range(2)]
        assert any(found) and all(
            errors in ([], [(ErrorCode.PORT_DOWN, 1, 0)]) for errors in found
        ), found
        logged = (await status(ctx, mesh.gpus[0].dut, "GPU_COUNT_LINK_DOWN"))["count"]
        assert logged == 1
        for gpu in mesh.gpus:
            for work in WORKS:
                expected = work.accesses(gpu.number)
                assert not gpu.seen(work) - expected
        await abort_all(ctx, mesh, *WORKS)
        for gpu in mesh.gpus:
            for memory in gpu.memories:
                memory.seen.clear()
        again = [replace(work, generation=work.generation + 1) for work in WORKS]
        for number in range(GPUS):
            for work in again:
                await mesh.launch(ctx, number, work)
        await mesh.finish(ctx, *again)
        mesh.check(*again)

    simulate(bench, 5)


@VERIFY
def test_port_down_and_up_during_a_launch():
    """Attack: privileged software, or a loose cable, takes a port down and up again within a
    launch. The launch of the GPU whose packets are lost times out there; nothing else hangs, and no
    packet of before arrives later."""
    timeout = [("TIMEOUT", {"ticks": 40})]

    async def bench(ctx, mesh):
        for number in range(GPUS):
            await mesh.launch(ctx, number, WORKS[0], changes=timeout)
        await next_frame(ctx, mesh.links[0].wires[0].send)
        await set_links(ctx, mesh.gpus[0], 0b01)
        await ctx.tick().repeat(50)
        await set_links(ctx, mesh.gpus[0], 0)
        await ctx.tick().repeat(40 * 64 + SESSION)
        codes = [[code for code, *_ in await take_errors(ctx, gpu, 0)] for gpu in mesh.gpus]
        assert ErrorCode.PORT_DOWN in codes[0]
        lost = mesh.gpus[1].seen(WORKS[0]) != WORKS[0].accesses(1)
        assert (ErrorCode.TIMEOUT in codes[1]) == lost
        before = [gpu.seen(WORKS[0]) for gpu in mesh.gpus]
        await ctx.tick().repeat(SESSION)
        assert [gpu.seen(WORKS[0]) for gpu in mesh.gpus] == before
        await abort_all(ctx, mesh, WORKS[0])

    simulate(bench, 6)


@VERIFY
def test_all_ports_down_and_abort():
    """Attack: all ports of a GPU go down while both tenants send. The kernels store everything, no
    link output is blocked, the launches are aborted, and privileged software takes the contexts
    over. When the ports are up again, the next launch is right."""
    works = [Direct(number=number, generation=3 + 6 * number, chunk=4) for number in range(2)]

    async def bench(ctx, mesh):
        gpu = mesh.gpus[0]
        gpu.careless |= {0, 1}
        for number in range(GPUS):
            for work in works:
                await mesh.launch(ctx, number, work, runs=number > 0)
        for work in works:  # whose stores come now
            gpu.add(work)
        await ctx.tick().repeat(10)
        await set_links(ctx, gpu, 0b11)
        await ctx.tick().repeat(300)
        for channel in gpu.dut.channel:
            assert not ctx.get(channel.link_out.valid & ~channel.link_out.ready)
        for context in range(2):
            errors = await take_errors(ctx, gpu, context)
            assert [code for code, *_ in errors] == [ErrorCode.PORT_DOWN]
        await abort_all(ctx, mesh, *works)
        for context in range(2):
            await program(ctx, gpu.dut, [("CLEAR", {"tables": 1})], context)
        gpu.careless.clear()
        await set_links(ctx, gpu, 0)
        await ctx.tick().repeat(SESSION)
        for one in mesh.gpus:
            for memory in one.memories:
                memory.seen.clear()
        again = Direct(number=0, generation=4, members=(1, 2))
        for number in again.members:
            await mesh.launch(ctx, number, again)
        await mesh.finish(ctx, again)
        mesh.check(again)

    simulate(bench, 7)
