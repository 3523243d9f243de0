"""Scan harness: drives every input and captures every output."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from t3.silicon.fpga.harness import ScanHarness


class Swap(wiring.Component):
    a: In(3)
    b: In(5)
    c: Out(5)
    d: Out(3)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.c.eq(~self.b), self.d.eq(self.a)]
        return m


def test_every_port_is_reached():
    harness = ScanHarness(Swap())
    assert (harness.inputs, harness.outputs) == (8, 8)
    a, b = 0b110, 0b01011
    found = []

    async def bench(ctx):
        word = a | b << 3
        for bit in reversed(range(8)):
            ctx.set(harness.scan_in, word >> bit & 1)
            await ctx.tick()
        ctx.set(harness.capture, 1)
        await ctx.tick()
        ctx.set(harness.capture, 0)
        for _ in range(8):
            found.append(ctx.get(harness.scan_out))
            await ctx.tick()

    simulator = Simulator(harness)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    outputs = sum(bit << 7 - index for index, bit in enumerate(found))
    assert outputs == (~b & 0b11111) | a << 5
