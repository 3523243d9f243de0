"""Wide counter with short carry chains."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["WideCounter"]

_BLOCK_BITS = 8


class WideCounter(wiring.Component):
    """Counter of cycles with ``step``; wraps at its width.

    Each block of bits has a register that flags that its bits are all ones, so a carry chain is no
    longer than a block.

    Members
    -------
    step : In(1)
        Count this cycle.
    clear : In(1)
        Reset the count to 0; overrides ``step``.
    o : Out(width)
        Count. Register.

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
        super().__init__({"step": In(1), "clear": In(1), "o": Out(width), "clock_enable": Out(1)})

    def elaborate(self, platform):
        m = Module()
        width = len(self.o)
        full_below = []
        for low in range(0, width, _BLOCK_BITS):
            block = self.o[low : low + _BLOCK_BITS]
            steps = self.step & Cat(full_below).all()
            with m.If(steps):
                m.d.sync += block.eq(block + 1)
            with m.If(self.clear):
                m.d.sync += block.eq(0)
            if low + _BLOCK_BITS < width:  # there is a block above
                full = Signal(name=f"full_{low}")
                with m.If(steps):
                    m.d.sync += full.eq(~block[0] & block[1:].all())
                with m.If(self.clear):
                    m.d.sync += full.eq(0)
                full_below.append(full)
        m.d.comb += self.clock_enable.eq(self.step | (self.clear & Cat(self.o, *full_below).any()))
        return m
