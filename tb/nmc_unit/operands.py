"""Operands for the reduce unit, and the atoms that hold them."""

import numpy as np

from rtl.interface.encodings import Datatype
from tb.nmc_unit.reference import BITS

__all__ = ["from_word", "special_values", "structured", "to_word"]

_FRACTION_BITS = {Datatype.FP16: 10, Datatype.BF16: 7, Datatype.FP32: 23}


def special_values(dtype: Datatype) -> list[int]:
    """Critical bit patterns of a format: bounds of the number classes, ties, several NaNs."""
    fraction = _FRACTION_BITS[dtype]
    width = BITS[dtype](0).nbytes * 8
    infinity = (1 << width - 1) - (1 << fraction)
    bias = infinity >> fraction + 1
    one = bias << fraction
    ulp_half = bias - fraction - 1 << fraction  # half a unit in the last place of 1
    positive = {
        *range(4),
        (1 << fraction - 1) - 1,  # near the middle and the end of the subnormal numbers
        1 << fraction - 1,
        (1 << fraction) - 1,
        1 << fraction,
        (1 << fraction) + 1,
        (2 << fraction) - 1,
        2 << fraction,
        one - 1,
        one,
        one + 1,
        one + 2,
        one + (1 << fraction) - 1,
        ulp_half - 1,
        ulp_half,
        ulp_half + 1,
        ulp_half - (1 << fraction),
        infinity - 1,
        infinity - 2,
        infinity - (1 << fraction),
        infinity - (fraction + 1 << fraction) - 1,  # around half a unit of the largest number
        infinity - (fraction + 2 << fraction),
        infinity - (fraction + 2 << fraction) + 1,
        infinity,
        infinity + 1,  # signalling NaNs, and quiet ones
        infinity + (1 << fraction - 1) - 1,
        infinity + (1 << fraction - 1),
        infinity + (1 << fraction) - 1,
    }
    return sorted(positive | {1 << width - 1 | bits for bits in positive})


def structured(
    rng: np.random.Generator, dtype: Datatype, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs of random bit patterns with close exponents, with cancellation, or with
    few ones.
    """
    fraction = _FRACTION_BITS[dtype]
    width = BITS[dtype](0).nbytes * 8
    a = rng.integers(0, 1 << width, size)
    a = np.where(rng.integers(0, 8, size) == 0, a >> fraction << fraction, a)  # a power of two
    distance = rng.integers(-fraction - 3, fraction + 4, size)
    near = np.clip((a >> fraction & (1 << width - 1 - fraction) - 1) + distance, 0, None)
    near = np.minimum(near, (1 << width - 1 - fraction) - 1) << fraction
    sign = rng.integers(0, 2, size) << width - 1
    sparse = (1 << rng.integers(0, fraction + 1, size)) - rng.integers(0, 2, size)
    depth = rng.integers(1, fraction + 2, size)  # number of bits that cancellation leaves
    opposite = a ^ 1 << width - 1
    specials = np.array(special_values(dtype))
    b = np.choose(
        rng.integers(0, 6, size),
        [
            rng.integers(0, 1 << width, size),
            near | sign | rng.integers(0, 1 << fraction, size),
            near | sign | sparse & (1 << fraction) - 1,
            opposite ^ rng.integers(0, 1 << depth),
            (opposite - rng.integers(0, 3, size)) % (1 << width),
            rng.choice(specials, size),
        ],
    )
    swap = rng.integers(0, 2, size) == 1
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    return a.astype(BITS[dtype]), b.astype(BITS[dtype])


def to_word(numbers: np.ndarray) -> int:
    """Make the atom that holds these bit patterns, the first in the lowest bits."""
    return int.from_bytes(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes(), "little")


def from_word(word: int, dtype: Datatype, atom_bytes: int) -> np.ndarray:
    """Inverse of :func:`to_word`."""
    little = np.dtype(BITS[dtype]).newbyteorder("<")
    return np.frombuffer(word.to_bytes(atom_bytes, "little"), little).astype(BITS[dtype])
