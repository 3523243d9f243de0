from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from rtl.lib.gating import clock_gated
from verification.mutation.clocks import stopped


class Count(wiring.Component):
    """Counter of its own clocks, which no clock-gated block may be."""

    def __init__(self, inner=None):
        self._inner = inner
        super().__init__({"runs": In(1), "clock_enable": Out(1), "o": Out(4)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.clock_enable.eq(self.runs)
        m.d.sync += self.o.eq(self.o + 1)
        if self._inner is not None:
            m.submodules.inner = clock_gated(self._inner)
        return m


def test_each_gated_block_has_its_own_clock():
    inner = Count()
    outer = Count(inner)
    found = []

    async def bench(ctx):
        for outer_runs, inner_runs, cycles in ((1, 0, 3), (0, 1, 5), (1, 1, 1), (0, 0, 4)):
            ctx.set(outer.runs, outer_runs)
            ctx.set(inner.runs, inner_runs)
            await ctx.tick().repeat(cycles)
            found.append((ctx.get(outer.o), ctx.get(inner.o)))

    simulator = Simulator(stopped(outer))
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert found == [(3, 0), (3, 5), (4, 6), (4, 6)]
