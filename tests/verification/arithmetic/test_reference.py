"""The reference against exact rational arithmetic, and against rules of the standard."""

from fractions import Fraction

import numpy as np
import pytest

from rtl.interface.encodings import Datatype, Operation
from rtl.nmc.float_format import FORMATS
from tb.nmc_unit.reference import BITS, reduce_bits
from verification.arithmetic.pairs import structured_pairs


def parts(bits, form):
    exponent = bits >> form.fraction_bits & form.special
    return bits >> form.width - 1, exponent, bits & (1 << form.fraction_bits) - 1


def exact(bits, form):
    """A finite number in units of the smallest subnormal one."""
    sign, exponent, fraction = parts(bits, form)
    magnitude = fraction if exponent == 0 else (fraction | 1 << form.fraction_bits) << exponent - 1
    return -magnitude if sign else magnitude


def rounded(value, form):
    """Bits of the nearest number, of two the even one; ``value`` as in :func:`exact`, not 0."""
    magnitude = abs(value)
    shift = max(magnitude.bit_length() - form.fraction_bits - 1, 0)
    significand = round(Fraction(magnitude, 1 << shift))  # Python rounds halves to even
    # The hidden bit adds one to the exponent, a carry out of the fraction as well.
    bits = (shift << form.fraction_bits) + significand
    infinity = form.special << form.fraction_bits
    return min(bits, infinity) | (value < 0) << form.width - 1


def finite_pairs(dtype, seed):
    """Structured pairs of fp32, cut to the format."""
    form = FORMATS[dtype]
    a, b = structured_pairs(np.random.default_rng(seed))
    if dtype is Datatype.BF16:
        a, b = a >> np.uint32(16), b >> np.uint32(16)
    elif dtype is Datatype.FP16:
        a, b = a & np.uint32(0xFFFF), b >> np.uint32(8) & np.uint32(0xFFFF)
    chosen = np.random.default_rng(seed).choice(len(a), 6000, replace=False)
    for x, y in zip(a[chosen].tolist(), b[chosen].tolist(), strict=True):
        if parts(x, form)[1] != form.special != parts(y, form)[1]:
            yield x, y


@pytest.mark.parametrize("dtype", Datatype)
def test_sums_are_the_exact_ones_rounded_once(dtype):
    seed = 501
    print(f"seed {seed}")
    form = FORMATS[dtype]
    pairs = list(finite_pairs(dtype, seed))
    assert len(pairs) > 4000
    a, b = (np.array(side, BITS[dtype]) for side in zip(*pairs, strict=True))
    found = reduce_bits(a, b, Operation.SUM, dtype)
    for (x, y), result in zip(pairs, found.tolist(), strict=True):
        total = exact(x, form) + exact(y, form)
        expected = rounded(total, form) if total else (x & y & 1 << form.width - 1)
        assert result == expected, f"{x:#x} {y:#x}: {result:#x}, not {expected:#x}"


@pytest.mark.parametrize("dtype", Datatype)
def test_maximum_and_minimum_follow_the_order_of_numbers(dtype):
    seed = 502
    print(f"seed {seed}")
    form = FORMATS[dtype]
    pairs = list(finite_pairs(dtype, seed))
    a, b = (np.array(side, BITS[dtype]) for side in zip(*pairs, strict=True))

    def order(bits):
        return exact(bits, form), -(bits >> form.width - 1)  # -0 before +0

    for op, choose in ((Operation.MAX, max), (Operation.MIN, min)):
        expected = [choose(pair, key=order) for pair in pairs]
        assert reduce_bits(a, b, op, dtype).tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "one", "infinity", "signalling", "negative_nan", "canonical"),
    [
        (Datatype.FP16, 0x3C00, 0x7C00, 0x7C01, 0xFFFF, 0x7E00),
        (Datatype.BF16, 0x3F80, 0x7F80, 0x7F81, 0xFFFF, 0x7FC0),
        (Datatype.FP32, 0x3F80_0000, 0x7F80_0000, 0x7F80_0001, 0xFFFF_FFFF, 0x7FC0_0000),
    ],
)
def test_special_values(dtype, one, infinity, signalling, negative_nan, canonical):
    minus = 1 << FORMATS[dtype].width - 1
    cases = [
        *((nan, other, op, canonical)
          for nan in (signalling, negative_nan, canonical)
          for other in (0, minus, one, infinity, minus | infinity, signalling)
          for op in Operation),
        (infinity, minus | infinity, Operation.SUM, canonical),
        (infinity, minus | infinity, Operation.MAX, infinity),
        (infinity, minus | infinity, Operation.MIN, minus | infinity),
        (infinity, infinity, Operation.SUM, infinity),
        (minus | infinity, infinity - 1, Operation.SUM, minus | infinity),
        (infinity - 1, infinity - 1, Operation.SUM, infinity),
        (one, minus | one, Operation.SUM, 0),
        (0, minus, Operation.SUM, 0),
        (minus, minus, Operation.SUM, minus),
        (0, minus, Operation.MAX, 0),
        (0, minus, Operation.MIN, minus),
        (minus, minus, Operation.MAX, minus),
        (0, 0, Operation.MIN, 0),
    ]  # fmt: skip
    for a, b, op, expected in cases:
        for stored, operand in ((a, b), (b, a)):
            stored, operand = np.array([stored], BITS[dtype]), np.array([operand], BITS[dtype])
            assert reduce_bits(stored, operand, op, dtype).tolist() == [expected], (a, b, op)
