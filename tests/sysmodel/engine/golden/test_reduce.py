"""The golden reduce unit against NumPy's arithmetic, bit for bit."""

import ml_dtypes
import numba
import numpy as np
import pytest

from rtl.interface.encodings import Datatype, Operation
from sysmodel.engine.golden.nmc.arithmetic import reduce_lane, reduce_word

FORMATS = {
    Datatype.FP16: (np.dtype(np.float16), np.uint16),
    Datatype.BF16: (np.dtype(ml_dtypes.bfloat16), np.uint16),
    Datatype.FP32: (np.dtype(np.float32), np.uint32),
}

NANS = {Datatype.FP16: 0x7E00, Datatype.BF16: 0x7FC0, Datatype.FP32: 0x7FC00000}


@numba.njit
def reduce_all(op, dtype, a, b):
    result = np.empty_like(a)
    for lane in range(len(a)):
        result[lane] = reduce_lane(op, dtype, a[lane], b[lane])
    return result


def operands(dtype, count, seed):
    """Random bits, neighbours of nearly equal size, and every pair of the special values."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    number, word = FORMATS[dtype]
    bits = 8 * number.itemsize
    a = rng.integers(0, 1 << bits, count).astype(word)
    b = rng.integers(0, 1 << bits, count).astype(word)
    near = count // 2
    sign = word(1 << (bits - 1))
    noise = rng.integers(0, 1 << (bits // 2), near).astype(word)
    b[:near] = (a[:near] ^ noise) ^ np.where(rng.random(near) < 0.5, sign, word(0))
    fraction = ml_dtypes.finfo(number).nmant
    top = 1 << (bits - 1)
    infinity = top - (1 << fraction)
    special = [0, 1, (1 << fraction) - 1, 1 << fraction, infinity - 1, infinity, infinity + 1]
    special += [top - 1, infinity + (1 << (fraction - 1))]
    special = np.array([value | sign for value in special for sign in (0, top)], word)
    a = np.concatenate([a, np.repeat(special, len(special))])
    return a, np.concatenate([b, np.tile(special, len(special))])


def expected(op, dtype, a, b):
    number, word = FORMATS[dtype]
    x, y = a.view(number), b.view(number)
    with np.errstate(all="ignore"):
        if op is Operation.SUM:
            result = x + y
        else:
            # Signed zeros in order, which NumPy's maximum leaves open.
            first = (x > y) | ((x == y) & ~np.signbit(x))
            result = np.where(first if op is Operation.MAX else ~first, x, y)
        nan = np.isnan(x) | np.isnan(y) | np.isnan(result)
    bits = result.view(word).copy()
    bits[nan] = NANS[dtype]
    return bits


@pytest.mark.parametrize("dtype", Datatype)
@pytest.mark.parametrize("op", Operation)
def test_lane(op, dtype):
    a, b = operands(dtype, 1_000_000, seed=1)
    found = reduce_all(op.value, dtype.value, a.astype(np.int64), b.astype(np.int64))
    np.testing.assert_array_equal(found, expected(op, dtype, a, b))


@pytest.mark.parametrize("dtype", Datatype)
def test_word_has_independent_lanes(dtype):
    a, b = operands(dtype, 64, seed=2)
    word = FORMATS[dtype][1]
    words = len(a) // (8 // np.dtype(word).itemsize)
    lanes = words * (8 // np.dtype(word).itemsize)
    a, b = a[:lanes], b[:lanes]
    found = [
        reduce_word(Operation.SUM.value, dtype.value, x, y)
        for x, y in zip(a.view(np.int64), b.view(np.int64), strict=True)
    ]
    np.testing.assert_array_equal(
        np.array(found, np.int64).view(word), expected(Operation.SUM, dtype, a, b)
    )
