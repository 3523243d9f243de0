import random

import pytest
from amaranth.sim import Simulator

from rtl.lib.wide_counter import WideCounter


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


def test_wrong_widths():
    with pytest.raises(TypeError, match=r"Width must be an integer, not '8'"):
        WideCounter("8")
    with pytest.raises(ValueError, match=r"Width must be at least 1, not 0"):
        WideCounter(0)


@pytest.mark.parametrize("width", [1, 8, 9, 12])
def test_counts_and_wraps(width):
    """The counter passes the carries of all blocks, with pauses at every value of the low ones."""
    seed = width
    print("seed", seed)
    rng = random.Random(seed)

    async def bench(ctx):
        expected = 0
        while expected < 2**width + 600:
            assert ctx.get(dut.o) == expected % 2**width
            step = rng.random() < 0.9
            ctx.set(dut.step, step)
            expected += step
            await ctx.tick()

    dut = WideCounter(width)
    simulate(dut, bench)


def test_third_block():
    """Two full blocks carry into the next one, and only then."""

    async def bench(ctx):
        ctx.set(dut.step, 1)
        await ctx.tick().repeat(2**16 - 2)
        for expected in range(2**16 - 2, 2**16 + 300):
            assert ctx.get(dut.o) == expected
            await ctx.tick()

    dut = WideCounter(20)
    simulate(dut, bench)


def test_clear():
    """A clear works in every cycle, also while a block is all ones or about to be."""

    async def bench(ctx):
        ctx.set(dut.step, 1)
        for last in (1, 254, 255, 256, 511):
            for _ in range(last):
                await ctx.tick()
            assert ctx.get(dut.o) == last
            ctx.set(dut.clear, 1)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            assert ctx.get(dut.o) == 0
        for _ in range(600):
            await ctx.tick()
        assert ctx.get(dut.o) == 600

    dut = WideCounter(20)
    simulate(dut, bench)
