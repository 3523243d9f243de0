"""Share of a channel's peak that a memory stream of a whole GPU reaches."""

from functools import cache
from statistics import fmean

from sysmodel.config.dram_timing import DramTiming

from .patterns import streams
from .serve import fraction_of_peak

__all__ = ["stream_share"]

_SEEDS = range(1, 11)  # places of the arrays
_CYCLES = 50_000


@cache
def stream_share(timing: DramTiming, reads: int, writes: int) -> float:
    """Mean share of the peak over several places of the arrays.

    Parameters
    ----------
    reads, writes : int
        Arrays that the stream reads, and writes.
    """
    patterns = (streams(reads, writes, seed=seed) for seed in _SEEDS)
    return fmean(fraction_of_peak(timing, one, cycles=_CYCLES) for one in patterns)
