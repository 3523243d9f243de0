import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from rtl.lib.select import one_hot_first, one_hot_select, select_at


@pytest.mark.parametrize("width", [1, 2, 5])
def test_first_and_its_value(width):
    """For all request patterns, the value of the lowest request is selected, or 0 without a
    request.
    """
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


@pytest.mark.parametrize("count", [1, 2, 3])
def test_at_an_index(count):
    """The value at the index is selected, or 0 beyond the last; a single value needs no
    index bits.
    """
    m = Module()
    index, chosen = Signal((count - 1).bit_length()), Signal(4)
    values = [3 * number + 1 for number in range(count)]
    m.d.comb += chosen.eq(select_at(index, values))

    async def bench(ctx):
        for number in range(1 << len(index)):
            ctx.set(index, number)
            assert ctx.get(chosen) == (values[number] if number < count else 0)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def test_lengths_differ():
    with pytest.raises(ValueError, match=r"zip"):
        one_hot_select(Signal(3), [1, 2])
