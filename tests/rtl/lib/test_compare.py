"""Comparisons in blocks, against Python's."""

import itertools
import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from rtl.lib.compare import less_than, sum_at_most, sum_less_than


def check(compare, expected, widths, cases):
    """Compare inputs of these widths in all cases."""
    m = Module()
    inputs = [Signal(width, name=f"input_{index}") for index, width in enumerate(widths)]
    output = Signal()
    m.d.comb += output.eq(compare(*inputs))

    async def bench(ctx):
        for values in cases:
            for signal, value in zip(inputs, values, strict=True):
                ctx.set(signal, value)
            assert ctx.get(output) == expected(*values), values

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def near(rng, widths):
    """Random values, and sums at or near the limit, are compared correctly."""
    *terms, limit = widths
    for _ in range(1500):
        values = [rng.randrange(2 ** rng.randint(0, width)) for width in terms]
        close = sum(values) + rng.randint(-1, 1)
        far = rng.randrange(2**limit)
        yield *values, close if rng.random() < 0.7 and 0 <= close < 2**limit else far


@pytest.mark.parametrize("widths", [(1, 1), (5, 7), (16, 17), (17, 16), (35, 35)])
def test_less_than(widths):
    rng = random.Random(sum(widths))
    print("seed", sum(widths))
    check(less_than, lambda a, b: a < b, widths, near(rng, widths))


SUMS = [(sum_less_than, lambda a, b, c: a + b < c), (sum_at_most, lambda a, b, c: a + b <= c)]


@pytest.mark.parametrize(("compare", "expected"), SUMS)
@pytest.mark.parametrize("widths", [(16, 17, 17), (16, 17, 18), (19, 16, 16), (18, 16, 16)])
def test_sums(compare, expected, widths):
    rng = random.Random(sum(widths))
    print("seed", sum(widths))
    check(compare, expected, widths, near(rng, widths))


@pytest.mark.parametrize(("compare", "expected"), SUMS)
@pytest.mark.parametrize("widths", [(3, 3, 3), (3, 2, 5), (2, 4, 1)])
def test_all_sums_of_few_bits(compare, expected, widths):
    check(compare, expected, widths, itertools.product(*(range(2**width) for width in widths)))
