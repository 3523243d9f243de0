"""Op-and-store: sum, maximum and minimum of two words of an atom, lane by lane."""

import numpy as np

from rtl.interface.encodings import Datatype, Operation
from sysmodel.lib.compiled import compiled

__all__ = ["canonical_nan", "reduce_lane", "reduce_word"]

_SUM, _MAX = Operation.SUM.value, Operation.MAX.value
_FP16, _BF16, _FP32 = Datatype.FP16.value, Datatype.BF16.value, Datatype.FP32.value


@compiled
def canonical_nan(dtype: int) -> int:
    """Return the bits of the canonical NaN."""
    if dtype == _FP16:
        return 0x7E00
    return 0x7FC0 if dtype == _BF16 else 0x7FC00000


@compiled
def _fraction_bits(dtype: int) -> int:
    if dtype == _FP16:
        return 10
    return 7 if dtype == _BF16 else 23


@compiled
def _is_nan(bits: int, dtype: int) -> bool:
    if dtype == _FP16:
        return bits & 0x7FFF > 0x7C00
    if dtype == _BF16:
        return bits & 0x7FFF > 0x7F80
    return bits & 0x7FFFFFFF > 0x7F800000


@compiled
def _widen(bits: int, dtype: int) -> float:
    """Convert a number to binary64, exactly."""
    if dtype == _FP16:
        exponent, fraction = (bits >> 10) & 31, bits & 1023
        if exponent == 31:
            magnitude = np.inf
        elif exponent == 0:
            magnitude = fraction * 2.0**-24
        else:
            magnitude = np.int64(((exponent + 1008) << 52) | (fraction << 42)).view(np.float64)
        return -magnitude if bits >> 15 else magnitude
    if dtype == _BF16:
        bits <<= 16
    return np.float64(np.uint32(bits).view(np.float32))


@compiled
def _narrow(value: float, dtype: int) -> int:
    """Round a number to nearest even.

    Binary64 has more than twice the precision of each format plus two bits. A sum that is rounded
    to binary64 first therefore has the same result as a sum that is rounded once.
    """
    if dtype == _FP32:
        return np.int64(np.float32(value).view(np.uint32))
    wide = np.float64(value).view(np.int64)
    sign = (wide >> 63) & 1
    wide &= 0x7FFFFFFFFFFFFFFF
    fraction_bits = _fraction_bits(dtype)
    bias = 15 if dtype == _FP16 else 127
    infinity = (2 * bias + 1) << fraction_bits
    exponent = (wide >> 52) - 1023 + bias
    significand = (wide & 0xFFFFFFFFFFFFF) | 1 << 52
    if exponent > 2 * bias:
        magnitude = infinity
    else:
        shift = 52 - fraction_bits
        if exponent <= 0:
            shift += 1 - exponent
            exponent = 1
        if shift > 54:
            magnitude = 0
        else:
            kept = significand >> shift
            rest = significand - (kept << shift)
            half = 1 << (shift - 1)
            if rest > half or (rest == half and kept & 1):
                kept += 1
            # The leading one of a normal number counts as one exponent step.
            magnitude = ((exponent - 1) << fraction_bits) + kept
            magnitude = min(magnitude, infinity)
    return magnitude | sign << (15 if dtype != _FP32 else 31)


@compiled
def reduce_lane(op: int, dtype: int, a: int, b: int) -> int:
    """Combine two numbers, given as bits; a NaN result is the canonical NaN."""
    if _is_nan(a, dtype) or _is_nan(b, dtype):
        return canonical_nan(dtype)
    if op == _SUM:
        total = _widen(a, dtype) + _widen(b, dtype)
        return canonical_nan(dtype) if np.isnan(total) else _narrow(total, dtype)
    # Sign and magnitude become integers whose order has -0 before +0.
    top = 1 << (31 if dtype == _FP32 else 15)
    key_a = top - 1 - a if a & top else a
    key_b = top - 1 - b if b & top else b
    first = key_a >= key_b if op == _MAX else key_a <= key_b
    return a if first else b


@compiled
def reduce_word(op: int, dtype: int, a: int, b: int) -> int:
    """Combine two 64-bit words with :func:`reduce_lane`, lane by lane."""
    width = 32 if dtype == _FP32 else 16
    mask = (1 << width) - 1
    result = 0
    for low in range(0, 64, width):
        result |= reduce_lane(op, dtype, (a >> low) & mask, (b >> low) & mask) << low
    return result
