"""Tops with their link endpoints inside, in a ring."""

from dataclasses import replace

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.link.parameters import LinkParameters
from rtl.top import T3
from tb.link_endpoint.dut import LINK
from tb.link_endpoint.wire import CLEAN, DEAD, Faults
from tests.support.context_traffic import TWO
from tests.support.ring_bench import CHANNELS, Gather, Work, simulate
from tests.support.top_bench import abort, program, status

# In generation 9 the downstream GPU, which shows 0 before its first launch, would be ahead.
WORKS = [Work(number=0, generation=3), Work(number=1, generation=9)]
SHARED = replace(LINK, channels=CHANNELS)
FAULTY = Faults(lose=0.03, repeat=0.1, corrupt=0.03, late=0.1, straggle=20, busy=0.1)


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"Link must be LinkParameters, not 1"):
        T3(TWO, 1)
    with pytest.raises(ValueError, match=r"contexts of the link must .* \(2\), not 1"):
        T3(TWO, LinkParameters())
    with pytest.raises(ValueError, match=r"channels of the link must divide .* \(2\), not 3"):
        T3(TWO, LinkParameters(contexts=2, channels=3))


@pytest.mark.parametrize("chunk", [1, pytest.param(2, marks=pytest.mark.verify)])
def test_all_gather_behind_a_reduce_scatter(chunk):
    """Each GPU's own tiles are complete by updates, leave as tracked stores, arrive, are complete
    by these alone, and are sent on until all GPUs have them. Then the launch is done.
    """
    gather = Gather(number=0, generation=3, gpus=3, chunk=chunk)

    async def bench(ctx, ring):
        for number in range(3):
            await ring.launch(ctx, number, gather)
        await ring.finish(ctx, gather)
        ring.check(gather)
        tiles = 2 * (gather.slots_end - gather.chunk)
        for gpu in ring.gpus:
            assert ctx.get(gpu.dut.context[0].tiles) == tiles
            assert await errors(ctx, gpu) == NOTHING

    simulate(bench, 5, gpus=3, link=SHARED, gathers=True)


async def errors(ctx, gpu):
    """Return the oldest error since reset of the GPU and of each context."""
    found = []
    for prefix, context in (("GPU_", 0), ("", 0), ("", 1)):
        code = (await status(ctx, gpu.dut, f"{prefix}ERROR", context))["code"]
        count = (await status(ctx, gpu.dut, f"{prefix}ERRORS", context))["count"]
        found.append((ErrorCode(code), count))
    return found


NOTHING = [(ErrorCode.NONE, 0)] * 3


async def take_gpu_errors(ctx, gpu):
    """Codes and channels in the GPU's log."""
    taken = []
    while code := (await status(ctx, gpu.dut, "GPU_ERROR"))["code"]:
        place = await status(ctx, gpu.dut, "GPU_ERROR_LOCATION")
        taken.append((ErrorCode(code), place["channel"]))
        await program(ctx, gpu.dut, [("GPU_CONTROL", {"drop_error": 1})])
    return taken


@pytest.mark.parametrize(
    ("seed", "faults", "link", "launches"),
    [
        (7, FAULTY, SHARED, 1),
        pytest.param(7, FAULTY, SHARED, 2, marks=pytest.mark.verify),
        pytest.param(1, FAULTY, LINK, 2, marks=pytest.mark.verify),
        pytest.param(2, CLEAN, LINK, 2, marks=pytest.mark.verify),
        pytest.param(8, CLEAN, SHARED, 2, marks=pytest.mark.verify),
    ],
)
def test_reduce_scatter(seed, faults, link, launches):
    """Both contexts reduce-scatter over wires that lose, repeat, corrupt and delay, one for each
    channel or one for both; then each may run another launch. Before the downstream GPU has begun,
    nothing is sent."""
    again = Work(number=0, generation=4)

    async def bench(ctx, ring):
        await ring.launch(ctx, 0, *WORKS)
        await ctx.tick().repeat(300)
        first = ring.gpus[0].dut
        assert [ctx.get(port.dispatch_limit) for port in first.context] == [0, 0]
        await ring.launch(ctx, 1, *WORKS)
        await ring.finish(ctx, *WORKS)
        ring.check(*WORKS)
        if launches == 2:
            for number in (1, 0):
                await ring.launch(ctx, number, again)
            await ctx.tick().repeat(5)
            await ring.finish(ctx, again)
            ring.check(*WORKS, again)
        for gpu in ring.gpus:
            counts = {"begun": launches, "done": launches}
            assert await status(ctx, gpu.dut, "LAUNCHES") == counts
            assert await errors(ctx, gpu) == NOTHING
        assert faults is CLEAN or all(wire.corrupted for wire in ring.all_wires)

    simulate(bench, seed, faults=faults, link=link)


@pytest.mark.verify
def test_reduce_scatter_of_three_gpus():
    """Reduced workgroups are sent on, each when the next GPU admits it."""
    works = [Work(number=n, generation=15, gpus=3, chunk=1) for n in range(2)]

    async def bench(ctx, ring):
        for number in range(3):
            await ring.launch(ctx, number, *works)
        await ring.finish(ctx, *works)
        ring.check(*works)
        for gpu in ring.gpus:
            assert await errors(ctx, gpu) == NOTHING

    simulate(bench, 3, gpus=3, faults=FAULTY)


@pytest.mark.verify
def test_link_that_goes_down():
    """Both GPUs log the link error and interrupt both contexts; another channel's links work on.
    The contexts of the GPU whose packets are lost report it, each once, and no link output blocks.
    After an abort, and when the link works again, the next launch is right."""

    async def bench(ctx, ring):
        for gpu in ring.gpus:
            for context in range(2):
                enable = [("INTERRUPT_ENABLE", {"link": 1, "error": 1})]
                await program(ctx, gpu.dut, enable, context)
        await ctx.tick().repeat(200)
        broken = ring.wires[0][1]
        for wire in broken:
            wire.faults = DEAD
        for number in range(2):
            await ring.launch(ctx, number, *WORKS)
        await ctx.tick().repeat(2 * LINK.down_cycles)
        for gpu in ring.gpus:
            assert await take_gpu_errors(ctx, gpu) == [(ErrorCode.LINK_DOWN, 1)]
            assert (await status(ctx, gpu.dut, "GPU_COUNT_LINK_DOWN"))["count"] == 1
            for context, port in enumerate(gpu.dut.context):
                assert ctx.get(port.irq)
                # The other GPU misses nothing.
                assert ctx.get(port.done) == (gpu is ring.gpus[0])
                seen = await status(ctx, gpu.dut, "INTERRUPTS", context)
                assert seen["link"] and seen["error"] == (gpu is ring.gpus[0])
                lost = (await status(ctx, gpu.dut, "COUNT_PORT_DOWN", context))["count"]
                assert lost == (gpu is ring.gpus[0])
            for channel in gpu.dut.channel:
                assert not ctx.get(channel.stores.valid & ~channel.stores.ready)
        # All that goes over channel 0 has arrived.
        for gpu in ring.gpus:
            for work in WORKS:
                expected = work.accesses(gpu.number)
                found = gpu.seen(work)
                assert all(
                    found[access] == count
                    for access, count in expected.items()
                    if access in gpu.memories[0].seen
                )
        for gpu in ring.gpus:
            for work in WORKS:
                gpu.drop(work.number)
                await abort(ctx, gpu.dut, work.number)
                assert (await status(ctx, gpu.dut, "STATUS", work.number))["idle"]
            for memory in gpu.memories:
                memory.seen.clear()
        for wire in broken:
            wire.faults = CLEAN
        await ctx.tick().repeat(6 * LINK.lifetime_cycles)
        again = [replace(work, generation=(work.generation + 1) % 16) for work in WORKS]
        for number in range(2):
            await ring.launch(ctx, number, *again)
        await ring.finish(ctx, *again)
        ring.check(*again)

    simulate(bench, 4)


@pytest.mark.verify
def test_reset_of_one_gpu():
    """The other GPU logs the reset for each channel; afterwards both start new sessions."""

    async def bench(ctx, ring):
        here, there = ring.gpus
        await ctx.tick().repeat(200)
        await ring.launch(ctx, 0, WORKS[0])
        await ring.reset(ctx, 1)
        await ctx.tick().repeat(250)
        logged = await take_gpu_errors(ctx, here)
        assert set(logged) == {(ErrorCode.LINK_RESET, channel) for channel in range(CHANNELS)}
        assert await errors(ctx, there) == NOTHING
        here.drop(0)
        await abort(ctx, here.dut, 0)
        again = Work(number=0, generation=4)
        for number in range(2):
            await ring.launch(ctx, number, again)
        await ctx.tick().repeat(5)
        await ring.finish(ctx, again)
        ring.check(again)

    simulate(bench, 5)


@pytest.mark.verify  # tests/rtl/test_launches.py has the abort of a downstream GPU
def test_abort_on_one_gpu():
    """The upstream neighbour learns of the abort in that context alone; the other context goes
    on."""

    async def bench(ctx, ring):
        here, there = ring.gpus
        await ctx.tick().repeat(200)
        for number in range(2):
            await ring.launch(ctx, number, *WORKS)
            ring.gpus[number].drop(0)  # so that it does not end
        await abort(ctx, there.dut, 0)
        await ctx.tick().repeat(60)
        assert await errors(ctx, here) == [NOTHING[0], (ErrorCode.PEER_ABORTED, 1), NOTHING[0]]
        assert (await status(ctx, here.dut, "COUNT_PEER_ABORTED", 0))["count"] == 1
        await abort(ctx, here.dut, 0)
        await ring.finish(ctx, WORKS[1])
        ring.check(WORKS[1])
        assert await errors(ctx, there) == NOTHING

    simulate(bench, 6)


@pytest.mark.verify  # tests/rtl/test_downstream.py has the words that arrive
@pytest.mark.parametrize("aborts", [1, 2])
def test_an_abort_behind_a_slow_link(aborts):
    """The link back accepts nothing. Another context of the downstream GPU begins and aborts
    launches until all places of words are taken; then this one's launch is aborted, and the next
    one begins. When the link accepts flits again, the upstream GPU learns of the abort."""
    work = WORKS[0]

    async def bench(ctx, ring):
        up, down = ring.gpus
        for number in range(2):
            await ring.launch(ctx, number, work)
        down.drop(work.number)  # so that it does not end
        await ctx.tick().repeat(60)
        back = [link[1] for link in ring.wires[0]]
        for wire in back:
            wire.faults = Faults(busy=1)
        other = replace(WORKS[1], generation=0)
        for generation in range(10):
            await ring.launch(ctx, 1, replace(other, generation=generation))
            down.drop(other.number)
            await ctx.tick().repeat(25)
            await abort(ctx, down.dut, other.number)
        for later in range(1, aborts + 1):
            await abort(ctx, down.dut, work.number)
            await ctx.tick().repeat(40)
            await ring.launch(ctx, 1, replace(work, generation=work.generation + later))
            down.drop(work.number)
        for wire in back:
            wire.faults = CLEAN
        await ctx.tick().repeat(400)
        assert (await status(ctx, up.dut, "COUNT_PEER_ABORTED", work.number))["count"] == 1

    simulate(bench, 5, link=replace(LINK, down_cycles=4096))
