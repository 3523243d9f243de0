"""Baseline: GEMM, then ring reduce-scatter, then ring all-gather, all on the CUs."""

from sysmodel.machine.until import UNTIL_GEMM
from sysmodel.runs.collective_kernels import all_gather, reduce_scatter
from sysmodel.runs.conservation import Reduction
from sysmodel.runs.counters import GEMM, RS
from sysmodel.runs.phases import PhaseResult
from sysmodel.runs.simulation import RunContext, Simulation

__all__ = ["sequential"]


def sequential(context: RunContext, name: str = "sequential") -> PhaseResult:
    """Simulate the sequential baseline. Mapping the buffers takes no time."""
    with Simulation(
        context, name, cached_stores=True, payload_share=context.stores_payload_share
    ) as simulation:
        simulation.machine.start_kernel()
        simulation.run("GEMM", UNTIL_GEMM)
        gemm = simulation.machine.now
        simulation.count_activates(GEMM)
        simulation.machine.state.fixed["work"] = 0
        rs = reduce_scatter(context, simulation)
        simulation.count_activates(RS)
        ag = all_gather(context, simulation)
        return simulation.finish(
            Reduction(), gemm_cycles=gemm, rs_cycles=rs, ag_cycles=ag, total_cycles=gemm + rs + ag
        )
