"""Harness that connects a component with many ports to four pins."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.export.back_end import ports_of

__all__ = ["ScanHarness"]


class ScanHarness(wiring.Component):
    """Two shift registers: one drives every input of a component, one captures every output.

    With them synthesis removes no logic for lack of a changing input or a used output, and every
    path runs between two flip-flops.

    Members
    -------
    scan_in : In(1)
        Next bit of the input register.
    capture : In(1)
        The output register captures the outputs instead of shifting.
    scan_out : Out(1)
        Last bit of the output register.

    Attributes
    ----------
    inputs, outputs : int
        Number of bits of the component's ports and of the shift registers.
    """

    def __init__(self, inside: wiring.Component):
        super().__init__({"scan_in": In(1), "capture": In(1), "scan_out": Out(1)})
        self._inside = inside
        ports = ports_of(inside).values()
        self._driven = Cat(value for value, side in ports if side is PortDirection.Input)
        self._taken = Cat(value for value, side in ports if side is PortDirection.Output)
        self.inputs, self.outputs = len(self._driven), len(self._taken)

    def elaborate(self, platform):
        m = Module()
        m.submodules.inside = self._inside
        before = Signal(self.inputs, reset_less=True)
        behind = Signal(self.outputs, reset_less=True)
        m.d.comb += [self._driven.eq(before), self.scan_out.eq(behind[-1])]
        m.d.sync += [before.eq(Cat(self.scan_in, before)), behind.eq(Cat(False, behind))]
        with m.If(self.capture):
            m.d.sync += behind.eq(self._taken)
        return m
