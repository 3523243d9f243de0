"""Floating-point adder."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import Datatype

from .float_format import FORMATS, Float

__all__ = ["FloatAdd"]

# Length of a carry chain: longer chains are slower, more chains need a slower selection.
_BLOCK_BITS = 13


def _align(m: Module, value: Value, distance: Value) -> Value:
    """Compute ``value >> distance``, with the disjunction of the shifted-out bits in the lowest."""
    for bit in reversed(range(len(distance))):
        keep = 1 << bit
        shifted = Signal(len(value))
        m.d.comb += shifted.eq(
            Mux(distance[bit], Cat(value[: keep + 1].any(), value[keep + 1 :]), value)
        )
        value = shifted
    return value


def _add(m: Module, a: Value, b: Value, carry: Value) -> Value:
    """Compute ``a + b + carry``, modulo two to their width, with short carry chains.

    Synthesis would map a plain sum to a single chain. Here each block is summed for both values of
    its carry in, which then selects (carry-select adder).
    """
    chosen = []
    for low in range(0, len(a), _BLOCK_BITS):
        a_block, b_block = a[low : low + _BLOCK_BITS], b[low : low + _BLOCK_BITS]
        total = Signal(len(a_block) + 1)
        # A separate chain that starts with a carry, instead of an increment behind the other chain.
        more = (Cat(Const(1, 1), a_block) + Cat(Const(1, 1), b_block))[1:]
        m.d.comb += total.eq(Mux(carry, more, a_block + b_block))
        chosen.append(total[:-1])
        carry = total[-1]
    return Cat(*chosen)


def _leading_zeros(m: Module, value: Value) -> Value:
    """Count the zeros above the highest one, by halving; invalid without a one."""
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


@dataclass(frozen=True)
class _Ordered:
    """Registers behind the first stage: significands with their hidden bit."""

    dtype: Signal
    sign: Signal
    subtract: Signal
    exponent: Signal
    distance: Signal
    larger: Signal
    smaller: Signal


@dataclass(frozen=True)
class _Summed:
    """Registers behind the second stage."""

    dtype: Signal
    sign: Signal
    subtract: Signal
    exponent: Signal
    total: Signal


@dataclass(frozen=True)
class _Normal:
    """Registers behind the third stage: a significand without its hidden bit."""

    dtype: Signal
    sign: Signal
    exponent: Signal
    significand: Signal


class FloatAdd(wiring.Component):
    """Floating-point adder of two finite numbers of one format, rounding to nearest even.

    Subnormals are supported; a sum that overflows becomes an infinity; an exact zero is positive
    unless both numbers are negative zeros.

    A sum leaves ``LATENCY`` cycles after its operands arrived, one per cycle. The four stages are
    order, align and add, normalise, and round; the last stage ends at the output, without a
    register. Without operands the registers of the first stage hold, and later ones settle.

    Parameters
    ----------
    datatypes : sequence of :class:`Datatype`
        Formats that the adder supports. An unsupported ``dtype`` acts as the last one of them.

    Members
    -------
    valid : In(1)
        The operands are valid.
    a, b : In(Float)
        Operands. ``special`` is ignored.
    swap : In(1)
        The magnitude of ``a`` is less than that of ``b``.
    alone : In(1)
        Pass ``b`` if ``swap`` is set, otherwise ``a``, instead of the sum.
    nan : In(1)
        Output the canonical NaN, if ``alone`` is set and the passed number is special.
    dtype : In(Datatype)
        Format of both operands.
    o : Out(Float)
        Sum. Fraction bits below the format's fraction are invalid.
    o_dtype : Out(Datatype)
        Format of the sum.

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
                "valid": In(1, init=1),
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

    def elaborate(self, platform):
        m = Module()
        ordered = self._order(m)
        summed = self._sum(m, ordered)
        normal = self._normalise(m, summed)
        self._round(m, normal)
        return m

    @property
    def _significand_bits(self) -> int:
        """Width of a significand: hidden bit, fraction, and guard, round and sticky bit."""
        return len(self.o.fraction) + 4

    def _order(self, m: Module) -> _Ordered:
        """Order the operands by magnitude, and compute the distance of their exponents.

        A passed number is added to zero, so it needs no registers outside the adder.
        """
        exponent_bits, fraction_bits = len(self.o.exponent), len(self.o.fraction)
        exponents = []
        significands = []
        for number in (self.a, self.b):
            normal = number.exponent.any()
            # Subnormals have the exponent of the smallest normal numbers, without a hidden bit.
            exponents.append(Cat(number.exponent[0] | ~normal, number.exponent[1:]))
            significands.append(Cat(number.fraction, normal))
        # Distances beyond the significand saturate.
        distance_bits = (self._significand_bits - 1).bit_length()
        distances = []
        for above, below in (exponents, exponents[::-1]):
            difference = Signal(exponent_bits)
            m.d.comb += difference.eq(above - below)
            far = difference[distance_bits:].any()
            distances.append(difference[:distance_bits] | far.replicate(distance_bits))

        ordered = _Ordered(
            dtype=Signal(Datatype, name="dtype_1", reset_less=True),
            sign=Signal(name="sign_1", reset_less=True),
            subtract=Signal(name="subtract_1", reset_less=True),
            exponent=Signal(exponent_bits, name="exponent_1", reset_less=True),
            distance=Signal(distance_bits, name="distance_1", reset_less=True),
            larger=Signal(fraction_bits + 1, name="larger_1", reset_less=True),
            smaller=Signal(fraction_bits + 1, name="smaller_1", reset_less=True),
        )
        quiet_nan = Const(0b11 << (fraction_bits - 1), fraction_bits + 1)
        larger = Mux(self.swap, significands[1], significands[0])
        smaller = Mux(self.swap, significands[0], significands[1])
        with m.If(self.valid):
            m.d.sync += [
                ordered.dtype.eq(self.dtype),
                ordered.sign.eq(Mux(self.swap, self.b.sign, self.a.sign) & ~self.nan),
                ordered.subtract.eq((self.a.sign ^ self.b.sign) & ~self.alone),
                ordered.exponent.eq(Mux(self.swap, exponents[1], exponents[0])),
                ordered.distance.eq(Mux(self.swap, distances[1], distances[0])),
                ordered.larger.eq(Mux(self.nan, quiet_nan, larger)),
                ordered.smaller.eq(Mux(self.alone, 0, smaller)),
            ]
        return ordered

    def _sum(self, m: Module, ordered: _Ordered) -> _Summed:
        """Align and add.

        An extra bit on top takes the carry, so normalisation never shifts to the right.
        """
        sum_bits = self._significand_bits + 1
        aligned = _align(m, Cat(Const(0, 3), ordered.smaller), ordered.distance)
        complement = Signal(sum_bits)
        m.d.comb += complement.eq(aligned ^ ordered.subtract.replicate(sum_bits))
        # The carry in lets one adder serve both signs.
        larger = Cat(Const(0, 3), ordered.larger, Const(0, 1))
        total = _add(m, larger, complement, ordered.subtract)

        summed = _Summed(
            dtype=Signal(Datatype, name="dtype_2", reset_less=True),
            sign=Signal(name="sign_2", reset_less=True),
            subtract=Signal(name="subtract_2", reset_less=True),
            exponent=Signal(len(ordered.exponent), name="exponent_2", reset_less=True),
            total=Signal(sum_bits, name="total_2", reset_less=True),
        )
        m.d.sync += [
            summed.dtype.eq(ordered.dtype),
            summed.sign.eq(ordered.sign),
            summed.subtract.eq(ordered.subtract),
            summed.exponent.eq(ordered.exponent + 1),
            summed.total.eq(total),
        ]
        return summed

    def _normalise(self, m: Module, summed: _Summed) -> _Normal:
        """Normalise: shift the leading one to the top, or until the exponent reaches that of
        subnormals."""
        total, exponent = summed.total, summed.exponent
        sum_bits = len(total)
        barrier = Signal(sum_bits)
        bounded = Signal(sum_bits)
        m.d.comb += [
            barrier.eq(Const(1 << sum_bits, sum_bits + 1) >> exponent),
            bounded.eq(total | barrier),
        ]
        zeros = _leading_zeros(m, bounded)
        largest = self._largest_exponent(m, summed.dtype)
        overflow = Signal()  # before rounding
        shifted = Signal(sum_bits)
        m.d.comb += [
            overflow.eq(total[-1] & (exponent == largest)),
            # An overflowing sum keeps only its leading one, which makes the infinity's exponent.
            shifted.eq(Cat(total[:-1] & ~overflow.replicate(sum_bits - 1), total[-1]) << zeros),
        ]

        normal = _Normal(
            dtype=Signal(Datatype, name="dtype_3", reset_less=True),
            sign=Signal(name="sign_3", reset_less=True),
            exponent=Signal(len(exponent), name="exponent_3", reset_less=True),
            significand=Signal(sum_bits - 1, name="significand_3", reset_less=True),
        )
        m.d.sync += [
            normal.dtype.eq(summed.dtype),
            normal.sign.eq(summed.sign & ~(summed.subtract & ~total.any())),
            normal.exponent.eq(Mux(shifted[-1], exponent - zeros, 0)),
            normal.significand.eq(shifted),
        ]
        return normal

    def _round(self, m: Module, normal: _Normal) -> None:
        """Round. A carry out of the fraction increments the exponent, up to that of infinity."""
        fraction_bits = len(self.o.fraction)
        significand = normal.significand
        kept = Signal(fraction_bits)
        up = Signal()
        with m.Switch(normal.dtype):
            for datatype in self._datatypes:
                unused = fraction_bits - FORMATS[datatype].fraction_bits
                guard = 3 + unused
                odd = significand[guard + 1]
                with m.Default() if datatype is self._datatypes[-1] else m.Case(datatype):
                    m.d.comb += [
                        up.eq(significand[guard] & (odd | significand[:guard].any())),
                        # Ones below a short fraction propagate the increment to its lowest bit.
                        kept.eq(significand[4:] | (1 << unused) - 1),
                    ]
        magnitude = Cat(kept, normal.exponent)
        rounded = _add(m, magnitude, Const(0, len(magnitude)), up)
        m.d.comb += [
            self.o.fraction.eq(rounded[:fraction_bits]),
            self.o.exponent.eq(rounded[fraction_bits:]),
            self.o.sign.eq(normal.sign),
            self.o.special.eq(rounded[fraction_bits:] == self._largest_exponent(m, normal.dtype)),
            self.o_dtype.eq(normal.dtype),
        ]

    def _largest_exponent(self, m: Module, dtype: Value) -> Signal:
        """Exponent of infinities."""
        largest = Signal(len(self.o.exponent))
        with m.Switch(dtype):
            for datatype in self._datatypes:
                with m.Default() if datatype is self._datatypes[-1] else m.Case(datatype):
                    m.d.comb += largest.eq(FORMATS[datatype].special)
        return largest
