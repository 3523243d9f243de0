# amaranth: UnusedElaboratable=no
"""Sums in parts, against Python's."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from rtl.halved_sum import halved_sum
from rtl.partial_sum import finish_sum, start_sum


def cases(rng, width, terms):
    """Random words and those about the ends of a carry chain, for each term."""
    edges = [0, 1, 2**width - 1, 2 ** (width // 2) - 1, 2 ** (width // 2), 2**width // 3]
    for _ in range(400):
        pick = (rng.choice(edges), rng.randrange(2**width))
        yield [pick[0] if rng.random() < 0.5 else rng.choice(pick) for _ in range(terms)]


def check(m, inputs, output, expected, width):
    rng = random.Random(width)
    print("seed", width)

    async def bench(ctx):
        for values in cases(rng, width, len(inputs)):
            for signal, value in zip(inputs, values, strict=True):
                ctx.set(signal, value)
            assert ctx.get(output) == expected(*values) % 2**width, values

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("width", [2, 3, 16, 17])
@pytest.mark.parametrize(("plus", "minus"), [(2, 0), (1, 1), (2, 1), (3, 2)])
def test_halved_sum(width, plus, minus):
    m = Module()
    terms = [Signal(width, name=f"term_{index}") for index in range(plus + minus)]
    output = Signal(width)
    m.d.comb += output.eq(halved_sum(m, terms[:plus], terms[plus:], width=width))
    check(m, terms, output, lambda *values: sum(values[:plus]) - sum(values[plus:]), width)


@pytest.mark.parametrize("width", [1, 11, 12, 13, 24, 35])
def test_partial_sum(width):
    m = Module()
    a, b, output = Signal(width), Signal(width), Signal(width)
    m.d.comb += output.eq(finish_sum(start_sum(m, a, b)))
    check(m, [a, b], output, lambda x, y: x + y, width)


@pytest.mark.parametrize("ones", [12, 24])
def test_partial_sum_through_full_blocks(ones):
    """A carry that goes through blocks of ones."""
    m = Module()
    a, b, output = Signal(35), Signal(35), Signal(35)
    m.d.comb += output.eq(finish_sum(start_sum(m, a, b)))

    async def bench(ctx):
        for low in (0, 1, 5):
            ctx.set(a, 2**ones - 1)
            ctx.set(b, low)
            assert ctx.get(output) == 2**ones - 1 + low

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
