"""Incrementer with blocks, against Python's addition."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from rtl.lib.increment import increment


@pytest.mark.parametrize("width", [1, 7, 8, 9, 34])
def test_increment(width):
    rng = random.Random(width)
    print("seed", width)
    m = Module()
    value, more = Signal(width), Signal(width)
    m.d.comb += more.eq(increment(value))
    ones = [2**bits - 1 for bits in range(width + 1)]

    async def bench(ctx):
        # Carries of each length, and random values.
        for number in ones + [rng.randrange(2**width) for _ in range(300)]:
            ctx.set(value, number)
            assert ctx.get(more) == (number + 1) % 2**width

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
