"""Times of operators that are not simulated cycle by cycle."""

from collections.abc import Iterable

from sysmodel.config.system import System
from sysmodel.runs.tuned_library import library_efficiency

from .operators import MIXED, Operator, Precision

__all__ = ["MEMORY_SHARE", "operator_ns", "time_by_kind"]

# Share of the memory's peak that a kernel streaming 100 MB or more reaches: calculon-ai/calculon,
# systems/a100_80g.json, mem1.MB_efficiency.
MEMORY_SHARE = 0.90


def operator_ns(operator: Operator, system: System, precision: Precision = MIXED) -> float:
    """Time of an operator on its own, without a launch.

    The longer of two times: of a tuned library's arithmetic, and of the bytes at ``MEMORY_SHARE``
    of the memory's peak.
    """
    memory_ns = operator.moved_bytes / (system.dram_bytes_per_ns * MEMORY_SHARE)
    if operator.gemm is None:
        return memory_ns
    slower = precision.rate_divisor
    # The overhead of a tile takes the same time at a lower rate, so it equals correspondingly fewer
    # steps along K.
    efficiency = library_efficiency(slower * operator.gemm.k)
    return max(memory_ns, operator.flops * slower / (system.peak_flops_per_ns * efficiency))


def time_by_kind(
    operators: Iterable[Operator], system: System, precision: Precision = MIXED
) -> dict[str, float]:
    """Sums of times in ns, by kind of operator."""
    times: dict[str, float] = {}
    for one in operators:
        times[one.kind] = times.get(one.kind, 0.0) + operator_ns(one, system, precision)
    return times
