"""Floating-point adder."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .float_format import FORMATS, Float
from .layouts import Datatype

__all__ = ["FloatAdd"]


def _align(m: Module, value: Value, distance: Value) -> Value:
    """``value >> distance``, with every bit shifted out collected in the lowest one."""
    near = (len(value) - 1).bit_length()
    for bit in range(near):
        keep = 1 << bit
        shifted = Signal(len(value))
        m.d.comb += shifted.eq(
            Mux(distance[bit], Cat(value[: keep + 1].any(), value[keep + 1 :]), value)
        )
        value = shifted
    return Mux(distance[near:].any(), value.any(), value)


def _leading_zeros(m: Module, value: Value) -> Value:
    """Zeros above the highest one, by halving; without a one, the result has no meaning."""
    if len(value) == 2:
        return ~value[1]
    half = 1 << ((len(value) - 1).bit_length() - 1)
    padded = Cat(Const(0, 2 * half - len(value)), value)
    upper = _leading_zeros(m, padded[half:])
    lower = _leading_zeros(m, padded[:half])
    count = Signal(len(upper) + 1)
    empty = ~padded[half:].any()
    m.d.comb += count.eq(Cat(Mux(empty, lower, upper), empty))
    return count


class FloatAdd(wiring.Component):
    """Sum of two finite numbers of one format, rounded to nearest even.

    Subnormals go in and come out; a sum that is too large becomes an infinity; an exact zero is
    positive unless both numbers are negative zeros.

    A sum leaves ``LATENCY`` cycles after its numbers came, one per cycle. The four stages are
    align, add, normalise, and round; the last ends at the output, without a register.

    Parameters
    ----------
    datatypes : sequence of :class:`Datatype`
        Formats that the adder knows. Another ``dtype`` is taken as the last one of them.

    Members
    -------
    a, b : In(Float)
        The numbers. ``special`` is not looked at.
    swap : In(1)
        The magnitude of ``a`` is less than that of ``b``.
    dtype : In(Datatype)
        Format of both.
    o : Out(Float)
        The sum. Fraction bits below the format's have no meaning.
    o_dtype : Out(Datatype)
        Its format.

    Raises
    ------
    ValueError
        If there are no datatypes.
    """

    LATENCY = 3

    def __init__(self, datatypes: Sequence[Datatype]):
        number = Float(datatypes)
        self._datatypes = tuple(datatypes)
        super().__init__(
            {
                "a": In(number),
                "b": In(number),
                "swap": In(1),
                "dtype": In(Datatype),
                "o": Out(number),
                "o_dtype": Out(Datatype),
            }
        )

    def elaborate(self, platform):
        m = Module()
        exponent_bits = len(self.o.exponent)
        fraction_bits = len(self.o.fraction)
        # The hidden bit, the fraction and three bits below it: guard, round, sticky.
        significand_bits = fraction_bits + 4

        # Align. The exponents alone say by how much, and which number except when they are equal:
        # so the shift does not wait for the comparison of whole magnitudes.
        exponents = []
        significands = []
        for number in (self.a, self.b):
            normal = number.exponent.any()
            # Subnormals have the exponent of the smallest normal numbers, without hidden bit.
            exponents.append(Cat(number.exponent[0] | ~normal, number.exponent[1:]))
            significands.append(Cat(Const(0, 3), number.fraction, normal))
        a_above = Signal(signed(exponent_bits + 1))
        b_above = Signal(signed(exponent_bits + 1))
        distance = Signal(exponent_bits)
        lower = Signal(significand_bits)
        m.d.comb += [
            a_above.eq(exponents[0] - exponents[1]),
            b_above.eq(exponents[1] - exponents[0]),
            distance.eq(Mux(a_above < 0, b_above, a_above)),
            lower.eq(Mux(a_above < 0, significands[0], significands[1])),
        ]
        aligned = _align(m, lower, distance)
        only_swap = self.swap & (a_above == 0)

        dtype_1 = Signal(Datatype, reset_less=True)
        sign_1 = Signal(reset_less=True)
        subtract_1 = Signal(reset_less=True)
        exponent_1 = Signal(exponent_bits, reset_less=True)
        larger_1 = Signal(significand_bits, reset_less=True)
        smaller_1 = Signal(significand_bits, reset_less=True)
        m.d.sync += [
            dtype_1.eq(self.dtype),
            sign_1.eq(Mux(self.swap, self.b.sign, self.a.sign)),
            subtract_1.eq(self.a.sign ^ self.b.sign),
            exponent_1.eq(Mux(a_above < 0, exponents[1], exponents[0])),
            larger_1.eq(Mux(self.swap, significands[1], significands[0])),
            smaller_1.eq(Mux(only_swap, significands[0], aligned)),
        ]

        # Add. The bit on top takes the carry, so the leading one is found as far left as
        # exponent + 1 and never needs a shift to the right.
        sum_bits = significand_bits + 1
        complement = Signal(sum_bits)
        total = Signal(sum_bits)
        m.d.comb += [
            complement.eq(smaller_1 ^ subtract_1.replicate(sum_bits)),
            # A carry goes in at the bottom, to make one adder serve both signs.
            total.eq((Cat(Const(1, 1), larger_1) + Cat(subtract_1, complement))[1:]),
        ]
        # Where the shift must stop because the exponent has come down to the subnormals'.
        barrier = Signal(sum_bits)
        m.d.comb += barrier.eq(Const(1 << (sum_bits - 1), sum_bits) >> exponent_1)
        bounded = Signal(sum_bits)
        m.d.comb += bounded.eq(total | barrier)

        dtype_2 = Signal(Datatype, reset_less=True)
        sign_2 = Signal(reset_less=True)
        subtract_2 = Signal(reset_less=True)
        exponent_2 = Signal(exponent_bits, reset_less=True)
        total_2 = Signal(sum_bits, reset_less=True)
        bounded_2 = Signal(sum_bits, reset_less=True)
        m.d.sync += [
            dtype_2.eq(dtype_1),
            sign_2.eq(sign_1),
            subtract_2.eq(subtract_1),
            exponent_2.eq(exponent_1 + 1),
            total_2.eq(total),
            bounded_2.eq(bounded),
        ]

        # Normalise.
        zeros = _leading_zeros(m, bounded_2)
        shifted = Signal(sum_bits)
        m.d.comb += shifted.eq(total_2 << zeros)

        dtype_3 = Signal(Datatype, reset_less=True)
        sign_3 = Signal(reset_less=True)
        exponent_3 = Signal(exponent_bits, reset_less=True)
        normal = Signal(sum_bits, reset_less=True)
        carried = Signal(reset_less=True)
        m.d.sync += [
            dtype_3.eq(dtype_2),
            sign_3.eq(sign_2 & ~(subtract_2 & ~total_2.any())),
            exponent_3.eq(exponent_2 - zeros),
            normal.eq(shifted),
            carried.eq(total_2[-1]),
        ]

        # Round.
        exponent = Signal(exponent_bits)
        m.d.comb += exponent.eq(Mux(normal[-1], exponent_3, 0))
        kept = Signal(fraction_bits)
        up = Signal()
        largest = Signal(exponent_bits)
        with m.Switch(dtype_3):
            for datatype in self._datatypes:
                form = FORMATS[datatype]
                unused = fraction_bits - form.fraction_bits
                guard = 3 + unused
                odd = normal[guard + 1]
                with m.Default() if datatype is self._datatypes[-1] else m.Case(datatype):
                    m.d.comb += [
                        up.eq(normal[guard] & (odd | normal[:guard].any())),
                        # Ones below a short fraction take the increment up to its lowest bit.
                        kept.eq(normal[4:] | (1 << unused) - 1),
                        largest.eq(form.special),
                    ]
        # A carry out of the fraction makes the next exponent, up to the infinity's.
        rounded = Signal(exponent_bits + fraction_bits)
        # Too large already before rounding.
        overflow = Signal()
        m.d.comb += [
            rounded.eq(Cat(kept, exponent) + up),
            overflow.eq(carried & (exponent_3 == largest)),
            self.o.fraction.eq(Mux(overflow, 0, rounded[:fraction_bits])),
            self.o.exponent.eq(Mux(overflow, largest, rounded[fraction_bits:])),
            self.o.sign.eq(sign_3),
            self.o.special.eq(overflow | (rounded[fraction_bits:] == largest)),
            self.o_dtype.eq(dtype_3),
        ]
        return m
