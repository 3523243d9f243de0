"""A register that rests while what it follows stays as it is."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Follower"]


class Follower(wiring.Component):
    """Gives in each cycle what came in the last one; 0 after reset.

    Parameters
    ----------
    width : int

    Members
    -------
    i : In(width)
    o : Out(width)
        A register.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Raises
    ------
    TypeError
        If ``width`` is not an integer.
    ValueError
        If ``width`` is less than 1.
    """

    def __init__(self, width: int):
        if not isinstance(width, int):
            raise TypeError(f"Width must be an integer, not {width!r}")
        if width < 1:
            raise ValueError(f"Width must be at least 1, not {width!r}")
        super().__init__({"i": In(width), "o": Out(width), "awake": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i)
        m.d.comb += self.awake.eq(self.i != self.o)
        return m
