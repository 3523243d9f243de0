"""Peers as a context sees them: admission, aborts, and numbers that wrap."""

import random
from dataclasses import replace

import pytest

from driver.python import DOWNSTREAM, UPSTREAM
from tests.support.context_traffic import KERNELS, TWO
from tests.support.top_bench import (
    BOTH_WAYS,
    LIMIT_CYCLES,
    abort,
    begun,
    launch,
    program,
    simulate,
    status,
)

CONTEXT = 1
KERNEL = KERNELS[CONTEXT]
GENERATIONS = 16


def show(ctx, port, *, generation, limit, aborted=0, peer=DOWNSTREAM):
    """Drive the words of a peer; the kernel's stores leave to the downstream GPU alone."""
    ctx.set(port.generation_in[peer], generation % GENERATIONS)
    ctx.set(port.credit_limit_in[peer], limit)
    ctx.set(port.aborted_in[peer], aborted)


async def relaunch(ctx, dut, generation):
    """Abort the launch, and begin the next one."""
    await abort(ctx, dut, CONTEXT)
    tracking = ("TRACKING", {"generation": generation % GENERATIONS})
    await program(ctx, dut, [tracking, ("CONTROL", {"launch": 1})], CONTEXT)
    await begun(ctx, dut, CONTEXT)


async def peer_aborts(ctx, dut):
    """Return the number of reported aborts."""
    await ctx.tick().repeat(4)
    return (await status(ctx, dut, "COUNT_PEER_ABORTED", CONTEXT))["count"]


@pytest.mark.parametrize("seen_at", [None, 3])
def test_a_gpu_far_behind_admits_nothing(seen_at):
    """The downstream GPU admits nothing while its software tries again and again here. From nine
    launches on it looks ahead, and it does from the first one if it never was at a launch."""
    seed = 4
    print("seed", seed)
    rng = random.Random(seed)

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        first = replace(KERNEL, generation=0)
        await launch(ctx, dut, first.registers, CONTEXT)
        for number in range(1, GENERATIONS + 4):
            if number - 1 == seen_at:
                show(ctx, port, generation=seen_at, limit=1)
                await ctx.tick().repeat(3)
            show(ctx, port, generation=0, limit=0)
            await relaunch(ctx, dut, number)
            if seen_at is not None and number < seen_at + 9:
                continue
            show(ctx, port, generation=number + rng.randrange(1, 8), limit=1)
            for _ in range(LIMIT_CYCLES):
                await ctx.tick()
                assert ctx.get(port.dispatch_limit) == 0, number

    simulate(bench, TWO)


@pytest.mark.parametrize("behind", [7, 8])
def test_a_gpu_that_was_behind_may_go_ahead(behind):
    """A GPU that was behind this launch, and looks ahead, has passed it, whether this was seen
    before or after the launch began. It then admits everything."""

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        first = replace(KERNEL, generation=3)
        await launch(ctx, dut, first.registers, CONTEXT)
        show(ctx, port, generation=3 - behind, limit=1)
        await ctx.tick().repeat(LIMIT_CYCLES)
        assert ctx.get(port.dispatch_limit) == 0
        show(ctx, port, generation=5, limit=0)
        await relaunch(ctx, dut, 4)
        for limit in (0, 1):
            show(ctx, port, generation=5, limit=limit)
            await ctx.tick().repeat(LIMIT_CYCLES)
        admitted = ctx.get(port.dispatch_limit) > 0
        assert admitted == (behind < 8)  # launch 4 would be 9 ahead of a GPU that stays there

    simulate(bench, TWO)


@pytest.mark.parametrize("peer", [DOWNSTREAM, UPSTREAM])
def test_an_old_abort_is_not_taken_for_a_new_one(peer):
    """A GPU that aborted its launch and hangs shows the same generation 16 launches later."""

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        await launch(ctx, dut, replace(KERNEL, generation=0).registers, CONTEXT)
        show(ctx, port, generation=0, limit=1, peer=peer)
        await ctx.tick().repeat(2)
        show(ctx, port, generation=0, limit=0, aborted=1, peer=peer)
        assert await peer_aborts(ctx, dut) == 1
        for number in range(1, GENERATIONS + 2):
            await relaunch(ctx, dut, number)
            assert await peer_aborts(ctx, dut) == 1, number

    simulate(bench, TWO)


@pytest.mark.parametrize(("later", "peer"), [(0, DOWNSTREAM), (1, UPSTREAM), (7, BOTH_WAYS)])
def test_an_abort_stays_visible(later, peer):
    """A peer aborts its launch, and begins and aborts more, before its next word
    arrives: the abort is reported once, and only to its own launch."""

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        await launch(ctx, dut, replace(KERNEL, generation=0).registers, CONTEXT)
        show(ctx, port, generation=0, limit=1, peer=peer)
        await ctx.tick().repeat(2)
        others = 0xFF & ~(1 << later)
        show(ctx, port, generation=later, limit=1, aborted=others, peer=peer)
        assert await peer_aborts(ctx, dut) == 0
        show(ctx, port, generation=later, limit=1, aborted=1 << later, peer=peer)
        assert await peer_aborts(ctx, dut) == 1
        show(ctx, port, generation=later, limit=1, aborted=0, peer=peer)
        await ctx.tick()
        show(ctx, port, generation=later, limit=1, aborted=1 << later, peer=peer)
        assert await peer_aborts(ctx, dut) == 1

    simulate(bench, TWO)


def test_aborts_are_shown_for_seven_launches():
    """The abort of a launch is shown to the peers, as a bit for each launch, until it is eight
    generations old."""

    async def bench(ctx, dut):
        port, aborted, number = dut.context[CONTEXT], set(), 0
        await launch(ctx, dut, replace(KERNEL, generation=0).registers, CONTEXT)
        for step in (1, 2, 1, 7, 3, 6):
            aborted.add(number)
            number += step
            await relaunch(ctx, dut, number)
            await ctx.tick()
            shown = {number - back for back in range(8) if ctx.get(port.aborted) >> back & 1}
            assert shown == {one for one in aborted if number - one < 8}
            assert ctx.get(port.generation) == number % GENERATIONS

    simulate(bench, TWO)
