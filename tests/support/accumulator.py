"""Accumulator of four bits."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Accumulator"]


class Accumulator(wiring.Component):
    i: In(4)
    o: Out(4)

    def elaborate(self, platform):
        m = Module()
        held = Signal(4)
        m.d.sync += [held.eq(self.i), self.o.eq(self.o + held)]
        return m
