"""Pairs of fp32 numbers that expose typical errors of adders and comparators."""

import numpy as np

from rtl.interface.encodings import Datatype
from rtl.nmc.float_format import FORMATS

__all__ = ["BATCH_PAIRS", "structured_pairs"]

_FORMAT = FORMATS[Datatype.FP32]
_FRACTION_BITS = _FORMAT.fraction_bits
_FRACTION = (1 << _FRACTION_BITS) - 1
_SIGN = 1 << _FORMAT.width - 1
_SPECIAL = _FORMAT.special
_SIZE = 1 << 13  # pairs of each kind in a batch

Pairs = tuple[np.ndarray, np.ndarray]


def _any(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 1 << 32, _SIZE, np.uint32)


def _between(rng: np.random.Generator, low: int, high: int) -> np.ndarray:
    """Draw integers from ``low`` (included) to ``high`` (excluded); negative ones modulo 2^32."""
    return rng.integers(low, high, _SIZE).astype(np.uint32)


def _with_exponent(bits: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    kept = np.uint32(_SIGN | _FRACTION)
    return bits & kept | exponent.astype(np.uint32) << np.uint32(_FRACTION_BITS)


def _uniform(rng: np.random.Generator) -> Pairs:
    return _any(rng), _any(rng)


def _distances(rng: np.random.Generator) -> Pairs:
    """Draw every difference of finite exponents equally often."""
    difference = np.arange(_SIZE) % _SPECIAL
    low = (rng.random(_SIZE) * (_SPECIAL - difference)).astype(np.int64)
    return _with_exponent(_any(rng), low + difference), _with_exponent(_any(rng), low)


def _close(rng: np.random.Generator) -> Pairs:
    """Draw exponents at most a significand apart; every other fraction has few ones."""
    a, b = _any(rng), _any(rng)
    sparse = _any(rng) & _any(rng) & _any(rng) | np.uint32(_SIGN)
    a[::4], b[1::2] = a[::4] & sparse[::4], b[1::2] & sparse[1::2]
    exponent = rng.integers(0, _SPECIAL, _SIZE)
    reach = _FRACTION_BITS + 4
    other = np.clip(exponent + rng.integers(-reach, reach + 1, _SIZE), 0, _SPECIAL - 1)
    return _with_exponent(a, exponent), _with_exponent(b, other)


def _cancelling(rng: np.random.Generator) -> Pairs:
    """Draw pairs of opposite signs that are equal or a few units in the last place apart."""
    a = _any(rng)
    return a, (a ^ np.uint32(_SIGN)) + _between(rng, -4, 5)


def _halfway(rng: np.random.Generator) -> Pairs:
    """Draw pairs whose sum is halfway between two numbers, or differs from that by the smallest
    step.
    """
    distance = _between(rng, 1, _FRACTION_BITS + 2)
    exponent = _between(rng, _FRACTION_BITS + 2, _SPECIAL)
    one = np.uint32(1)
    above = _any(rng) & np.uint32(_FRACTION) & ~((one << distance) - one)
    significand = above | one << (distance - one) | np.uint32(_FRACTION + 1)
    # The hidden bit adds one to the exponent.
    b = ((exponent - distance - one) << np.uint32(_FRACTION_BITS)) + significand
    b += _between(rng, -1, 2)
    return _with_exponent(_any(rng), exponent), b ^ (_any(rng) & np.uint32(_SIGN))


def _subnormal(rng: np.random.Generator) -> Pairs:
    """Draw subnormal numbers and the smallest normal ones."""
    return (
        _with_exponent(_any(rng), rng.integers(0, 3, _SIZE)),
        _with_exponent(_any(rng), rng.integers(0, 3, _SIZE)),
    )


def _boundary(rng: np.random.Generator) -> Pairs:
    """Draw numbers within a few steps of a power of two, zero, the largest number or infinity."""
    near = [
        (_between(rng, 0, _SPECIAL + 1) << np.uint32(_FRACTION_BITS)) + _between(rng, -3, 4)
        for _ in range(2)
    ]
    a, b = (bits ^ (_any(rng) & np.uint32(_SIGN)) for bits in near)
    # Sums that overflow or just do not overflow are rare among these pairs: add more of them.
    b[::4] = _with_exponent(b[::4], np.uint32(_SPECIAL - 1) - _between(rng, 0, 26)[::4])
    a[::4] = _with_exponent(a[::4], np.full(_SIZE // 4, _SPECIAL - 1))
    return a, b


def _special(rng: np.random.Generator) -> Pairs:
    """Draw a NaN with any payload, an infinity or a zero, and any number or a special one."""
    a, b = _any(rng), _any(rng)
    infinity = np.uint32(_SPECIAL << _FRACTION_BITS)
    nan = a | infinity
    infinite, zero = a & np.uint32(_SIGN) | infinity, a & np.uint32(_SIGN)
    a = np.choose(np.arange(_SIZE) % 3, (nan, infinite, zero))
    other = rng.permutation(a)
    return a, np.where(_any(rng) & np.uint32(1), b, other)


_KINDS = (
    _uniform,
    _distances,
    _close,
    _cancelling,
    _halfway,
    _subnormal,
    _boundary,
    _special,
)
BATCH_PAIRS = len(_KINDS) * _SIZE


def structured_pairs(rng: np.random.Generator) -> Pairs:
    """Draw a batch of bit patterns with the same number of pairs of each kind.

    The kinds are: uniform patterns; all differences of exponents; exponents close to each other;
    sums that cancel; sums halfway between two numbers; subnormal numbers; boundaries of the number
    classes; NaNs, infinities and zeros. Half of the pairs of each kind are swapped.

    Returns
    -------
    two arrays of uint32, shape (BATCH_PAIRS,)
    """
    a, b = (np.concatenate(parts) for parts in zip(*(kind(rng) for kind in _KINDS), strict=True))
    swapped = slice(_SIZE // 2, _SIZE)
    rows_a, rows_b = a.reshape(len(_KINDS), _SIZE), b.reshape(len(_KINDS), _SIZE)
    rows_a[:, swapped], rows_b[:, swapped] = rows_b[:, swapped].copy(), rows_a[:, swapped].copy()
    return a, b
