"""Slices of the complete comparison; ``t3 exhaust`` runs all of it."""

import numpy as np
import pytest

from rtl.interface.encodings import Datatype, Operation
from rtl.nmc.float_format import FORMATS
from verification.arithmetic.compare import ROW_PAIRS, Comparison, compare_batches, compare_rows
from verification.arithmetic.pairs import BATCH_PAIRS
from verification.arithmetic.unit import NativeUnit, build_unit

SHORT = [Datatype.FP16, Datatype.BF16]


@pytest.fixture(scope="module")
def unit():
    with NativeUnit(build_unit()) as unit:
        yield unit


def special_rows(dtype):
    """Both zeros, subnormals, the smallest normal, one, the largest, infinities, NaNs."""
    form = FORMATS[dtype]
    hidden = 1 << form.fraction_bits
    infinity = form.special << form.fraction_bits
    positive = [0, 1, hidden - 1, hidden, infinity >> 1, infinity - 1, infinity, infinity + 1]
    return [*positive, *(bits | 0x8000 for bits in positive)]


@pytest.mark.parametrize("op", Operation)
@pytest.mark.parametrize("dtype", SHORT)
def test_rows_of_short_formats(unit, dtype, op):
    seed = 521
    print(f"seed {seed}")
    rows = special_rows(dtype) + np.random.default_rng(seed).integers(0, 1 << 16, 8).tolist()
    assert compare_rows(unit, op, dtype, rows) == Comparison(pairs=len(rows) * ROW_PAIRS)


@pytest.mark.parametrize("op", Operation)
def test_batches_of_fp32(unit, op):
    seed = 522
    print(f"seed {seed}")
    assert compare_batches(unit, op, seed, range(8)) == Comparison(pairs=8 * BATCH_PAIRS)
