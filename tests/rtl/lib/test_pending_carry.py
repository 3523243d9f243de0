"""A running sum in halves, against Python's."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from rtl.lib.pending_carry import Halves, add, join


@pytest.mark.parametrize(("width", "step"), [(2, 2), (5, 3), (35, 35), (35, 24)])
def test_running_sum(width, step):
    """One term in every cycle; the sum is there in each."""
    rng = random.Random(width + step)
    print("seed", width + step)
    m = Module()
    halves, term, whole = Signal(Halves(width)), Signal(step), Signal(width)
    m.d.sync += halves.as_value().eq(add(halves, term))
    m.d.comb += whole.eq(join(halves))

    async def bench(ctx):
        total = 0
        for _ in range(600):
            # Most of them with a carry from half to half.
            low = 2 ** (width // 2) - 1
            value = rng.choice([rng.randrange(2**step), low & (2**step - 1), 1, 2**step - 1])
            assert ctx.get(whole) == total
            ctx.set(term, value)
            await ctx.tick()
            total = (total + value) % 2**width

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
