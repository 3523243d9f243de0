"""Perfect overlap: phases at the same time do not slow each other."""

from sysmodel.runs.counters import RS
from sysmodel.runs.phases import PhaseResult

__all__ = ["ideal"]


def ideal(sequential: PhaseResult, scatter: PhaseResult) -> PhaseResult:
    """GEMM and reduce-scatter side by side, each as fast as alone, then the all-gather."""
    counts = sequential.counts.copy()
    counts[RS] = scatter.counts[RS]
    return PhaseResult(
        gemm_cycles=sequential.gemm_cycles,
        rs_cycles=scatter.rs_cycles,
        ag_cycles=sequential.ag_cycles,
        total_cycles=max(sequential.gemm_cycles, scatter.rs_cycles) + sequential.ag_cycles,
        slot_cycles=sequential.slot_cycles,
        counts=counts,
    )
