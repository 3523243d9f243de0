"""Bit-serial multiplier, lowest bit first."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SerialProduct"]


class SerialProduct(wiring.Component):
    """Bit-serial multiplier of a word and a number that arrives bit by bit.

    Sums and carries are kept apart (carry-save), so a carry moves by one bit in a cycle.

    Parameters
    ----------
    width : int
        Width of the word.

    Members
    -------
    word : In(width)
        Constant from the first bit of a product to its last one.
    bit : In(1)
        Bit *i* of the number, *i* steps after ``clear``; 0 beyond its end.
    step : In(1)
        The next cycle has the next bit. Without ``step`` the state is kept.
    clear : In(1)
        The next cycle has bit 0 of a new product; overrides ``step``.
    o : Out(1)
        Bit *i* of the product, in the same cycle.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    sums, carries : Signal
        Carry-save form of the product's bits above those already output.

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
        super().__init__(
            {"word": In(width), "bit": In(1), "step": In(1), "clear": In(1), "o": Out(1)}
        )
        self.sums, self.carries = Signal(width - 1), Signal(width)

    def elaborate(self, platform):
        m = Module()
        width = len(self.word)
        sums, carries = self.sums, self.carries
        part = Signal(width)
        m.d.comb += part.eq(self.word & self.bit.replicate(width))
        low = Cat(sums, 0)
        m.d.comb += self.o.eq(part[0] ^ low[0] ^ carries[0])
        with m.If(self.step):
            m.d.sync += [
                sums.eq((part ^ low ^ carries)[1:]),
                carries.eq((part & low) | (part & carries) | (low & carries)),
            ]
        with m.If(self.clear):
            m.d.sync += [sums.eq(0), carries.eq(0)]
        return m
