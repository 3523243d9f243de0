"""Floating-point adder."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import Datatype

from .float_format import FORMATS, Float

__all__ = ["FloatAdd"]

# Of a carry chain. Longer chains take longer, more of them longer to choose from.
_BLOCK_BITS = 13


def _align(m: Module, value: Value, distance: Value) -> Value:
    """``value >> distance``, with every bit shifted out collected in the lowest one."""
    for bit in reversed(range(len(distance))):
        keep = 1 << bit
        shifted = Signal(len(value))
        m.d.comb += shifted.eq(
            Mux(distance[bit], Cat(value[: keep + 1].any(), value[keep + 1 :]), value)
        )
        value = shifted
    return value


def _add(m: Module, a: Value, b: Value, carry: Value) -> Value:
    """``a + b + carry``, modulo two to their width, with short carry chains.

    Mapping to gates leaves a plain sum as one chain. Here each block is summed for either carry
    that may come in, and that carry chooses.
    """
    chosen = []
    for low in range(0, len(a), _BLOCK_BITS):
        a_block, b_block = a[low : low + _BLOCK_BITS], b[low : low + _BLOCK_BITS]
        total = Signal(len(a_block) + 1)
        # A chain of its own that starts with a carry, not an increment behind the other.
        more = (Cat(Const(1, 1), a_block) + Cat(Const(1, 1), b_block))[1:]
        m.d.comb += total.eq(Mux(carry, more, a_block + b_block))
        chosen.append(total[:-1])
        carry = total[-1]
    return Cat(*chosen)


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
    order, align and add, normalise, and round; the last ends at the output, without a register.

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
    alone : In(1)
        Give ``b`` if ``swap`` is set, else ``a``, whatever it is, instead of the sum.
    nan : In(1)
        Give the canonical NaN, if ``alone`` is set and the number that it gives is special.
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
                "alone": In(1),
                "nan": In(1),
                "dtype": In(Datatype),
                "o": Out(number),
                "o_dtype": Out(Datatype),
            }
        )

    def _largest_exponent(self, m: Module, dtype: Value) -> Signal:
        """The infinities' exponent."""
        largest = Signal(len(self.o.exponent))
        with m.Switch(dtype):
            for datatype in self._datatypes:
                with m.Default() if datatype is self._datatypes[-1] else m.Case(datatype):
                    m.d.comb += largest.eq(FORMATS[datatype].special)
        return largest

    def elaborate(self, platform):
        m = Module()
        exponent_bits = len(self.o.exponent)
        fraction_bits = len(self.o.fraction)
        # The hidden bit, the fraction and three bits below it: guard, round, sticky.
        significand_bits = fraction_bits + 4

        # Order. What goes alone is added to zero, so it needs no registers beside the adder.
        exponents = []
        significands = []
        for number in (self.a, self.b):
            normal = number.exponent.any()
            # Subnormals have the exponent of the smallest normal numbers, without hidden bit.
            exponents.append(Cat(number.exponent[0] | ~normal, number.exponent[1:]))
            significands.append(Cat(number.fraction, normal))
        # Beyond the significand one distance is as good as another: the largest that fits.
        distance_bits = (significand_bits - 1).bit_length()
        distances = []
        for above, below in (exponents, exponents[::-1]):
            difference = Signal(exponent_bits)
            m.d.comb += difference.eq(above - below)
            far = difference[distance_bits:].any()
            distances.append(difference[:distance_bits] | far.replicate(distance_bits))

        dtype_1 = Signal(Datatype, reset_less=True)
        sign_1 = Signal(reset_less=True)
        subtract_1 = Signal(reset_less=True)
        exponent_1 = Signal(exponent_bits, reset_less=True)
        distance_1 = Signal(distance_bits, reset_less=True)
        larger_1 = Signal(fraction_bits + 1, reset_less=True)
        smaller_1 = Signal(fraction_bits + 1, reset_less=True)
        quiet_nan = Const(0b11 << (fraction_bits - 1), fraction_bits + 1)
        larger = Mux(self.swap, significands[1], significands[0])
        smaller = Mux(self.swap, significands[0], significands[1])
        m.d.sync += [
            dtype_1.eq(self.dtype),
            sign_1.eq(Mux(self.swap, self.b.sign, self.a.sign) & ~self.nan),
            subtract_1.eq((self.a.sign ^ self.b.sign) & ~self.alone),
            exponent_1.eq(Mux(self.swap, exponents[1], exponents[0])),
            distance_1.eq(Mux(self.swap, distances[1], distances[0])),
            larger_1.eq(Mux(self.nan, quiet_nan, larger)),
            smaller_1.eq(Mux(self.alone, 0, smaller)),
        ]

        # Align and add. The bit on top takes the carry, so the leading one is found as far left as
        # exponent + 1 and never needs a shift to the right.
        sum_bits = significand_bits + 1
        aligned = _align(m, Cat(Const(0, 3), smaller_1), distance_1)
        complement = Signal(sum_bits)
        m.d.comb += complement.eq(aligned ^ subtract_1.replicate(sum_bits))
        # The carry that goes in makes one adder serve both signs.
        total = _add(m, Cat(Const(0, 3), larger_1, Const(0, 1)), complement, subtract_1)

        dtype_2 = Signal(Datatype, reset_less=True)
        sign_2 = Signal(reset_less=True)
        subtract_2 = Signal(reset_less=True)
        exponent_2 = Signal(exponent_bits, reset_less=True)
        total_2 = Signal(sum_bits, reset_less=True)
        m.d.sync += [
            dtype_2.eq(dtype_1),
            sign_2.eq(sign_1),
            subtract_2.eq(subtract_1),
            exponent_2.eq(exponent_1 + 1),
            total_2.eq(total),
        ]

        # Normalise. The shift stops where the exponent has come down to the subnormals'.
        barrier = Signal(sum_bits)
        bounded = Signal(sum_bits)
        m.d.comb += [
            barrier.eq(Const(1 << sum_bits, sum_bits + 1) >> exponent_2),
            bounded.eq(total_2 | barrier),
        ]
        zeros = _leading_zeros(m, bounded)
        largest_2 = self._largest_exponent(m, dtype_2)
        overflow = Signal()  # already before rounding
        normal = Signal(sum_bits)
        m.d.comb += [
            overflow.eq(total_2[-1] & (exponent_2 == largest_2)),
            # Too large a sum leaves only its leading one, which makes the infinity's exponent.
            normal.eq(Cat(total_2[:-1] & ~overflow.replicate(sum_bits - 1), total_2[-1]) << zeros),
        ]

        dtype_3 = Signal(Datatype, reset_less=True)
        sign_3 = Signal(reset_less=True)
        exponent_3 = Signal(exponent_bits, reset_less=True)
        normal_3 = Signal(sum_bits - 1, reset_less=True)
        m.d.sync += [
            dtype_3.eq(dtype_2),
            sign_3.eq(sign_2 & ~(subtract_2 & ~total_2.any())),
            exponent_3.eq(Mux(normal[-1], exponent_2 - zeros, 0)),
            normal_3.eq(normal),
        ]

        # Round. A carry out of the fraction makes the next exponent, up to the infinity's.
        kept = Signal(fraction_bits)
        up = Signal()
        with m.Switch(dtype_3):
            for datatype in self._datatypes:
                unused = fraction_bits - FORMATS[datatype].fraction_bits
                guard = 3 + unused
                odd = normal_3[guard + 1]
                with m.Default() if datatype is self._datatypes[-1] else m.Case(datatype):
                    m.d.comb += [
                        up.eq(normal_3[guard] & (odd | normal_3[:guard].any())),
                        # Ones below a short fraction take the increment up to its lowest bit.
                        kept.eq(normal_3[4:] | (1 << unused) - 1),
                    ]
        magnitude = Cat(kept, exponent_3)
        rounded = _add(m, magnitude, Const(0, len(magnitude)), up)
        m.d.comb += [
            self.o.fraction.eq(rounded[:fraction_bits]),
            self.o.exponent.eq(rounded[fraction_bits:]),
            self.o.sign.eq(sign_3),
            self.o.special.eq(rounded[fraction_bits:] == self._largest_exponent(m, dtype_3)),
            self.o_dtype.eq(dtype_3),
        ]
        return m
