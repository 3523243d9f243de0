from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from rtl.lib.sleep import may_sleep
from verification.mutation.clocks import stopped


class Count(wiring.Component):
    """Counts its clocks, which no room of the hardware may do."""

    def __init__(self, inner=None):
        self._inner = inner
        super().__init__({"wakes": In(1), "awake": Out(1), "o": Out(4)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.awake.eq(self.wakes)
        m.d.sync += self.o.eq(self.o + 1)
        if self._inner is not None:
            m.submodules.inner = may_sleep(self._inner, platform)
        return m


def test_each_room_has_its_own_clock():
    inner = Count()
    outer = Count(inner)
    found = []

    async def bench(ctx):
        for outer_wakes, inner_wakes, cycles in ((1, 0, 3), (0, 1, 5), (1, 1, 1), (0, 0, 4)):
            ctx.set(outer.wakes, outer_wakes)
            ctx.set(inner.wakes, inner_wakes)
            await ctx.tick().repeat(cycles)
            found.append((ctx.get(outer.o), ctx.get(inner.o)))

    simulator = Simulator(stopped(outer))
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert found == [(3, 0), (3, 5), (4, 6), (4, 6)]
