"""Expected result of an operation, bit for bit, by the arithmetic of NumPy and ml_dtypes."""

import ml_dtypes
import numpy as np

from rtl.interface.encodings import Datatype, Operation

__all__ = ["BITS", "reduce_bits"]

BITS = {Datatype.FP16: np.uint16, Datatype.BF16: np.uint16, Datatype.FP32: np.uint32}
"""Type of the bit patterns of each format."""

_NUMBERS = {
    Datatype.FP16: np.float16,
    Datatype.BF16: ml_dtypes.bfloat16,
    Datatype.FP32: np.float32,
}
# Positive, quiet, no payload: IEEE 754-2019 leaves sign and payload open, the unit fixes them.
_NANS = {Datatype.FP16: 0x7E00, Datatype.BF16: 0x7FC0, Datatype.FP32: 0x7FC0_0000}


def reduce_bits(
    stored: np.ndarray, operand: np.ndarray, op: Operation, dtype: Datatype
) -> np.ndarray:
    """Compute ``op`` of bit patterns, number by number, with the results that the reduce unit must
    give.

    NumPy and ml_dtypes compute the sum: rounded to nearest even, with subnormals. For the short
    formats they add in fp32 and round once more. This is exact: 24 bits are at least twice 11 (or
    8) plus two, so the second rounding never changes the result (Figueroa, "When is double rounding
    innocuous?", 1995), and sums in the range of the subnormals are exact.

    Maximum and minimum follow IEEE 754-2019. NumPy's functions also give NaN for a NaN, but either
    zero for two zeros; here -0 is less than +0. A NaN result is the canonical NaN.

    Parameters
    ----------
    stored, operand : array of ``BITS[dtype]``
        Arrays whose shapes can be broadcast; neither is a scalar.
    op : Operation
    dtype : Datatype
    """
    x, y = stored.view(_NUMBERS[dtype]), operand.view(_NUMBERS[dtype])
    bits = BITS[dtype]
    with np.errstate(all="ignore"):
        if op is Operation.SUM:
            value = x + y
            result = value.view(bits)
        else:
            value = np.maximum(x, y) if op is Operation.MAX else np.minimum(x, y)
            magnitudes = (stored | operand) << bits(1)  # without the signs
            zero = stored & operand if op is Operation.MAX else stored | operand
            result = np.where(magnitudes == 0, zero, value.view(bits))
        return np.where(np.isnan(value), bits(_NANS[dtype]), result)
