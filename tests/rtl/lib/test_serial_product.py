import random

import pytest
from amaranth.sim import Simulator

from rtl.lib.serial_product import SerialProduct

BITS = 24
"""Width of the numbers that arrive bit by bit."""


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


async def product(ctx, dut, word, number, cycles):
    """The lowest bits of a product, one for each cycle, after a strobe."""
    ctx.set(dut.clear, 1)
    await ctx.tick()
    ctx.set(dut.clear, 0)
    ctx.set(dut.step, 1)
    ctx.set(dut.word, word)
    found = 0
    for index in range(cycles):
        ctx.set(dut.bit, number >> index & 1)
        found |= ctx.get(dut.o) << index
        await ctx.tick()
    return found


def test_wrong_widths():
    with pytest.raises(TypeError, match=r"Width must be an integer, not '8'"):
        SerialProduct("8")
    with pytest.raises(ValueError, match=r"Width must be at least 1, not 0"):
        SerialProduct(0)


@pytest.mark.parametrize("width", range(1, 21))
def test_products(width):
    seed = width
    print("seed", seed)
    rng = random.Random(seed)
    dut = SerialProduct(width)
    words, numbers = [0, 1, (1 << width) - 1], [0, 1, (1 << BITS) - 1]
    pairs = [(word, number) for word in words for number in numbers]
    pairs += [(rng.getrandbits(width), rng.getrandbits(rng.randint(1, BITS))) for _ in range(20)]

    async def bench(ctx):
        for word, number in pairs:
            found = await product(ctx, dut, word, number, width + BITS)
            assert found == word * number, (word, number)

    simulate(dut, bench)


def test_a_strobe_ends_a_product_at_any_bit():
    dut = SerialProduct(9)

    async def bench(ctx):
        for cycles in range(30):
            await product(ctx, dut, 0x1FF, (1 << BITS) - 1, cycles)
            assert await product(ctx, dut, 0x155, 0xABCDE, 32) == 0x155 * 0xABCDE

    simulate(dut, bench)


def test_rests_without_a_step():
    dut = SerialProduct(9)

    async def bench(ctx):
        for rests in (1, 2, 5):
            ctx.set(dut.clear, 1)
            ctx.set(dut.word, 0x1B5)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            found = 0
            for index in range(24):
                ctx.set(dut.step, 0)
                ctx.set(dut.bit, 0xA9C7 >> index & 1)
                await ctx.tick().repeat(rests)
                found |= ctx.get(dut.o) << index
                ctx.set(dut.step, 1)
                await ctx.tick()
            assert found == (0x1B5 * 0xA9C7) & 0xFFFFFF

    simulate(dut, bench)
