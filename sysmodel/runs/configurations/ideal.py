"""Perfect overlap: nothing that runs at once slows anything else."""

from sysmodel.lib.phases import RS
from sysmodel.runs.phases import PhaseResult, RunContext

__all__ = ["ideal"]


def ideal(
    context: RunContext, name: str, sequential: PhaseResult, scatter: PhaseResult
) -> PhaseResult:
    """GEMM and reduce-scatter as fast side by side as each alone, then the all-gather."""
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
