import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from rtl.lib.select import one_hot_first, one_hot_select


@pytest.mark.parametrize("width", [1, 2, 5])
def test_first_and_its_value(width):
    """All request patterns: the lowest one's value, 0 without one."""
    m = Module()
    requests, first, chosen = Signal(width), Signal(width), Signal(4)
    values = [3 * index + 1 for index in range(width)]
    m.d.comb += [
        first.eq(one_hot_first(requests)),
        chosen.eq(one_hot_select(first, values)),
    ]

    async def bench(ctx):
        for pattern in range(2**width):
            ctx.set(requests, pattern)
            lowest = next((i for i in range(width) if pattern >> i & 1), None)
            assert ctx.get(first) == (0 if lowest is None else 1 << lowest)
            assert ctx.get(chosen) == (0 if lowest is None else values[lowest])

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def test_lengths_differ():
    with pytest.raises(ValueError, match=r"zip"):
        one_hot_select(Signal(3), [1, 2])
