"""Expected results of launches with real values, from NumPy and the schedule alone."""

import ml_dtypes
import numpy as np

from sysmodel.collectives.reference import given_chunks, reference_chunks
from sysmodel.collectives.schedule import Chunk, Expanded

__all__ = ["DTYPES", "error_bound", "exact_sum", "reference"]

DTYPES = {
    "fp16": (np.dtype(np.float16), 0x7E00),
    "bf16": (np.dtype(ml_dtypes.bfloat16), 0x7FC0),
}
"""NumPy type of each format, and the only NaN that the reduce unit returns in it."""

_UNITS = {DTYPES["fp16"][0]: 2.0**-11, DTYPES["bf16"][0]: 2.0**-8}
"""Half of a unit in the last place, by the format's NumPy type, relative to the value."""


def reference(
    products: np.ndarray, nan: int, schedule: Expanded, memory: np.ndarray | None = None
) -> list[dict[Chunk, np.ndarray]]:
    """Chunks that each GPU keeps, each as a whole output (m, n) of which the chunk is meant.

    Every addition rounds. A NaN in a sum is the reduce unit's canonical NaN.

    Parameters
    ----------
    products : array
        Each GPU's product: (gpus, m, n).
    memory : array or None
        What each GPU's memory holds, to which the first contribution to its own chunk is added;
        the memory of other chunks holds zeros. None: memory is no term.
    """
    held = None if memory is None else _held(memory)
    given = [dict.fromkeys(given_chunks(schedule, rank), one) for rank, one in enumerate(products)]
    with np.errstate(over="ignore", invalid="ignore"):
        kept = reference_chunks(schedule, given, held)
    results = [{chunk: np.array(one) for chunk, one in of_gpu.items()} for of_gpu in kept]
    if any(schedule.reduces):
        for one in (one for of_gpu in results for one in of_gpu.values()):
            one.view(np.uint16)[np.isnan(one)] = nan
    return results


def _held(memory: np.ndarray) -> list[dict[Chunk, np.ndarray]]:
    zeros, gpus = np.zeros_like(memory[0]), range(len(memory))
    return [{Chunk(owner): memory[g] if owner == g else zeros for owner in gpus} for g in gpus]


def error_bound(terms: np.ndarray) -> np.ndarray:
    """Bound the error of a sum of terms that are added in any order: (m, n).

    Every addition, one less than terms, rounds a partial sum, which is at most the sum of the
    absolute values, by at most half a unit in the last place (N. J. Higham, The accuracy of
    floating point summation, 1993, eq. 2.6, whose terms of higher order are in the factor).
    """
    additions, unit = len(terms) - 1, _UNITS[terms.dtype]
    growth = additions * unit / (1 - additions * unit)
    bound: np.ndarray = growth * np.abs(terms.astype(np.float64)).sum(axis=0)
    return bound


def exact_sum(terms: np.ndarray) -> np.ndarray:
    """Add terms without a rounding that matters."""
    exact: np.ndarray = terms.astype(np.float64).sum(axis=0)
    return exact
