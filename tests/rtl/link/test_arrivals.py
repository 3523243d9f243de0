"""The queue of what arrived against a list of what it was given."""

import random
from collections import deque

import pytest
from amaranth.sim import Simulator

from rtl.link.arrivals import Arrivals


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


def test_visible_after_two_cycles_and_one_per_cycle():
    dut = Arrivals(8, depth=4)
    seen = []

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(20):
            ctx.set(dut.i.valid, cycle < 12)
            ctx.set(dut.i.p, 10 + cycle)
            if ctx.get(dut.o.valid):
                seen.append((cycle, ctx.get(dut.o.p)))
            await ctx.tick()
        assert ctx.get(dut.empty)

    simulate(dut, bench)
    assert seen == [(2 + index, 10 + index) for index in range(12)]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("depth", [4, 6, 10])
def test_nothing_is_lost(depth, seed):
    """As long as no more is given than there is room for."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    dut = Arrivals(8, depth=depth)

    async def bench(ctx):
        held, most, left, waited = deque(), 0, 0, 0
        for cycle in range(600):
            # By turns more comes in, and more is taken.
            ready = rng.random() < (0.3, 0.9)[cycle // 50 % 2]
            comes = len(held) < depth and rng.random() < 0.7
            ctx.set(dut.i.valid, comes)
            ctx.set(dut.i.p, packet := rng.getrandbits(8))
            ctx.set(dut.o.ready, ready)
            assert ctx.get(dut.empty) == (not held)
            waited = 0 if ctx.get(dut.o.valid) or not held else waited + 1
            assert waited <= 3
            if ready and ctx.get(dut.o.valid):
                assert ctx.get(dut.o.p) == held.popleft()
                left += 1
            if comes:
                held.append(packet)
            most = max(most, len(held))
            await ctx.tick()
        assert most == depth and left > 100

    simulate(dut, bench)
