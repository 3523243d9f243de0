import random

import pytest

from rtl.lib.wide_counter import WideCounter
from tests.support.simulation import run_gated


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
    run_gated(dut, bench)


def test_third_block():
    """Two full blocks carry into the next one, and only then."""

    async def bench(ctx):
        ctx.set(dut.step, 1)
        await ctx.tick().repeat(2**16 - 2)
        for expected in range(2**16 - 2, 2**16 + 300):
            assert ctx.get(dut.o) == expected
            await ctx.tick()

    dut = WideCounter(20)
    run_gated(dut, bench)


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
    run_gated(dut, bench)


def check_random(kind=WideCounter):
    """Compare steps and clears with a plain sum, with long pauses in which the clock stops."""
    seed = 9
    print("seed", seed)
    rng = random.Random(seed)

    async def bench(ctx):
        expected = 0
        for _ in range(120):
            often = rng.choice([0, 0.5, 1])
            # Often up to a block that is full, so that its carry waits for the next step.
            steps = rng.choice([rng.randrange(40), -expected % 256, -expected % 256 + 255])
            for _ in range(steps):
                step = int(rng.random() < often)
                ctx.set(dut.step, step)
                await ctx.tick()
                expected = (expected + step) % 2**20
                assert ctx.get(dut.o) == expected
            clear = int(rng.random() < 0.3)
            ctx.set(dut.step, 0)
            ctx.set(dut.clear, clear)
            for _ in range(rng.randrange(1, 4)):
                await ctx.tick()
                expected *= not clear
                assert ctx.get(dut.o) == expected
            ctx.set(dut.clear, 0)

    dut = kind(20)
    run_gated(dut, bench)


def test_random_steps_and_clears():
    check_random()
