"""Pipeline register that is clocked only in cycles in which its value changes."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PipelineRegister"]


class PipelineRegister(wiring.Component):
    """Pipeline register: delays its input by one cycle; 0 after reset.

    Members
    -------
    i : In(width)
    o : Out(width)
        A register.

    Raises
    ------
    ValueError
        If ``width`` is less than 1.
    """

    def __init__(self, width: int):
        if not isinstance(width, int):
            raise TypeError(f"Width must be an integer, not {width!r}")
        if width < 1:
            raise ValueError(f"Width must be at least 1, not {width!r}")
        super().__init__({"i": In(width), "o": Out(width), "clock_enable": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i)
        m.d.comb += self.clock_enable.eq(self.i != self.o)
        return m
