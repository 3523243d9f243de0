"""Proof of the serial product: it outputs the bits of the product."""

from functools import partial

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from rtl.lib.serial_product import SerialProduct

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]


class SerialProductHarness(Elaboratable):
    """Harness that multiplies a word by arbitrary numbers of the same width.

    A new product may begin, and a bit may stay, at any time. The word is constant from the first
    bit of a product on.
    """

    def __init__(self, serial_product: type = SerialProduct, *, width: int):
        self._serial_product = serial_product
        self._width = width

    def elaborate(self, platform):
        m = Module()
        width = self._width
        m.submodules.dut = dut = self._serial_product(width)
        free(m, dut.word, dut.bit, dut.step, dut.clear)

        # Index of the current bit; value of the previous bits; value including the current bit.
        index = Signal(range(2 * width + 1))
        before, number = Signal(width), Signal(width)
        word = Signal(width)
        m.d.comb += [
            number.eq(before | (dut.bit << index)),
            Assume((index < width) | ~dut.bit),
            Assume((index == 0) | (dut.word == word)),
        ]
        m.d.sync += word.eq(dut.word)
        with m.If(dut.step):
            m.d.sync += [index.eq(Mux(index == 2 * width, index, index + 1)), before.eq(number)]
        with m.If(dut.clear):
            m.d.sync += [index.eq(0), before.eq(0)]

        product, known = Signal(2 * width), Signal(2 * width)
        m.d.comb += [
            product.eq(dut.word * number),
            known.eq(dut.word * before),
            Assert(dut.o == (product >> index)[0], "o: differs from the bit of the product"),
            Cover(dut.o & (index == 2 * width - 1), "a product of the greatest length"),
            Cover(dut.clear & (index == width) & dut.carries.any(), "a product is cleared early"),
            invariant(index <= 2 * width, "index beyond the last bit"),
            invariant(before >> index == 0, "the number has bits that are still to come"),
            invariant(dut.sums + dut.carries == known >> index, "wrong rest of the product"),
        ]
        return m


PROOFS = tuple(
    Proof(
        name=f"serial-product-{width}",
        statement="Every output bit is the bit of the product, up to the highest bit and beyond, "
        "independently of earlier products",
        blocks=(SerialProduct,),
        harness=partial(SerialProductHarness, width=width),
        geometry=f"a word and a number of {width} bits",
        reason="the solver has to multiply; all bits except the first and the last are alike",
        depth=1,
        cover_depth=2 * width + 2,
        slow=width != 4,
    )
    for width in (4, 7)
)
