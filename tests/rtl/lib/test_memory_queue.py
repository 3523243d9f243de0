"""The queue in a memory against a list of its inputs."""

import random
from collections import deque

import pytest
from amaranth.sim import Simulator

from rtl.lib.memory_queue import MemoryQueue


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


SPLIT = pytest.mark.parametrize("split", [False, True])


@SPLIT
def test_visible_after_two_cycles_and_one_per_cycle(split):
    """The queue keeps its rate over more items than it has rows."""
    dut = MemoryQueue(8, depth=4, split=split)
    seen = []

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(20):
            ctx.set(dut.i.valid, cycle < 12)
            ctx.set(dut.i.p, 10 + cycle)
            assert ctx.get(dut.i.ready)
            if ctx.get(dut.o.valid):
                seen.append((cycle, ctx.get(dut.o.p)))
            await ctx.tick()

    simulate(dut, bench)
    assert seen == [(2 + index, 10 + index) for index in range(12)]


@pytest.mark.parametrize("stored", [2, 3])
def test_a_read_waits_for_the_half_that_is_written(stored):
    """With an even number of items in the memory, the next item to read lies in the half that the
    arriving item is written to."""
    dut = MemoryQueue(8, depth=8, split=True)

    async def bench(ctx):
        for number in range(stored + 1):  # one is read ahead
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.i.p, number)
            await ctx.tick()
        ctx.set(dut.i.valid, 0)
        await ctx.tick().repeat(3)
        assert ctx.get(dut.stored) == stored
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.o.ready, 1)
        await ctx.tick()
        assert ctx.get(dut.o.valid) == stored % 2
        # A read that waited once happens in every cycle from then on.
        for _ in range(6):
            await ctx.tick()
            assert ctx.get(dut.o.valid)

    simulate(dut, bench)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("depth", [2, 3, 8, 9])
@SPLIT
def test_nothing_is_lost(split, depth, seed):
    print(f"seed {seed}")
    rng = random.Random(seed)
    dut = MemoryQueue(8, depth=depth, split=split)

    async def bench(ctx):
        held, most, left, waited = deque(), 0, 0, 0
        for cycle in range(400):
            # Phases in which more items enter alternate with phases in which more leave.
            ready = rng.random() < (0.3, 0.9)[cycle // 50 % 2]
            ctx.set(dut.i.valid, rng.random() < 0.7)
            ctx.set(dut.i.p, rng.getrandbits(8))
            ctx.set(dut.o.ready, ready)
            assert ctx.get(dut.level) == len(held)
            waited = 0 if ctx.get(dut.o.valid) or not held else waited + 1
            assert waited <= 1
            if ready and ctx.get(dut.o.valid):
                assert ctx.get(dut.o.p) == held.popleft()
                left += 1
            if ctx.get(dut.i.valid) and ctx.get(dut.i.ready):
                held.append(ctx.get(dut.i.p))
            most = max(most, len(held))
            await ctx.tick()
        assert most == depth and left > 100

    simulate(dut, bench)


def test_depth():
    with pytest.raises(TypeError, match=r"Depth must be an integer, not 2\.5"):
        MemoryQueue(8, depth=2.5)
    with pytest.raises(ValueError, match="Depth must be at least 2, not 1"):
        MemoryQueue(8, depth=1)
