"""Comparison of the compiled reduce unit with the reference."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rtl.interface.encodings import Datatype, Operation
from tb.nmc_unit.reference import BITS, reduce_bits

from .pairs import structured_pairs
from .unit import NativeUnit

__all__ = ["ROWS_AT_ONCE", "ROW_PAIRS", "Comparison", "compare_batches", "compare_rows"]

ROWS_AT_ONCE = 2
ROW_PAIRS = 1 << 16

_SHOWN = 5  # mismatches in the report
# The lower and the upper lane of a pair differ in hardware: each number goes into both.
_BOTH_LANES = np.uint64(0x0001_0001)
_ALL_LANES = np.uint64(0x0001_0001_0001_0001)
_EVERY = np.arange(ROW_PAIRS, dtype=np.uint16)


@dataclass(frozen=True)
class Comparison:
    """Number of compared pairs, with the first mismatches.

    Attributes
    ----------
    first : tuple of (stored, operand, expected, found)
        Bit patterns of the first few mismatches.
    """

    pairs: int = 0
    mismatches: int = 0
    first: tuple[tuple[int, int, int, int], ...] = ()

    def __add__(self, other: "Comparison") -> "Comparison":
        return Comparison(
            self.pairs + other.pairs,
            self.mismatches + other.mismatches,
            (self.first + other.first)[:_SHOWN],
        )


def _differing(stored, operand, expected, *found) -> Comparison:
    """Compare the expected results with the results of one or several lanes."""
    wrong = np.logical_or.reduce([each != expected for each in found])
    first = []
    for i in np.flatnonzero(wrong)[:_SHOWN]:
        result = next(each[i] for each in found if each[i] != expected[i])
        first.append((int(stored[i]), int(operand[i]), int(expected[i]), int(result)))
    return Comparison(len(expected), int(np.count_nonzero(wrong)), tuple(first))


def compare_rows(
    unit: NativeUnit, op: Operation, dtype: Datatype, rows: Sequence[int]
) -> Comparison:
    """Compare some stored numbers with all 2^16 operands each, in both kinds of lanes.

    Parameters
    ----------
    rows : sequence of int
        Bit patterns of the 16-bit stored numbers; their count is a multiple of ``ROWS_AT_ONCE``.
    """
    total = Comparison()
    operands = _EVERY.astype(np.uint64) * _ALL_LANES
    for at in range(0, len(rows), ROWS_AT_ONCE):
        pair = np.array(rows[at : at + ROWS_AT_ONCE], np.uint16)
        low, high = pair.astype(np.uint64) * _BOTH_LANES
        stored = np.full(ROW_PAIRS, high << np.uint64(32) | low)
        lanes = unit.reduce(stored, operands, op, dtype).view(np.uint16).reshape(-1, 4)
        for i, row in enumerate(pair):
            expected = reduce_bits(pair[i : i + 1], _EVERY, op, dtype)
            lower, upper = lanes[:, 2 * i], lanes[:, 2 * i + 1]
            total += _differing(np.broadcast_to(row, ROW_PAIRS), _EVERY, expected, lower, upper)
    return total


def compare_batches(
    unit: NativeUnit, op: Operation, seed: int, batches: Sequence[int]
) -> Comparison:
    """Compare batches of structured random fp32 pairs, each with a random generator of its own.

    Parameters
    ----------
    batches : sequence of int
        Batch numbers; each is part of its generator's seed.
    """
    total = Comparison()
    for batch in batches:
        stored, operand = structured_pairs(np.random.default_rng((seed, op.value, batch)))
        expected = reduce_bits(stored, operand, op, Datatype.FP32)
        words = unit.reduce(stored.view(np.uint64), operand.view(np.uint64), op, Datatype.FP32)
        found = words.view(BITS[Datatype.FP32])
        total += _differing(stored, operand, expected, found)
    return total
