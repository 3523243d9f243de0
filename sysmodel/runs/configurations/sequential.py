"""Baseline: GEMM, then the collectives of its output, all on the CUs, one after the other."""

from sysmodel.machine.until import UNTIL_GEMM
from sysmodel.runs.collective_kernels import chain_kernels, moves_of
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.run_context import RunContext
from sysmodel.runs.simulation import Simulation

__all__ = ["sequential"]


def sequential(context: RunContext, name: str = "sequential") -> CycleResult:
    """Simulate the sequential baseline. Mapping the buffers takes no time."""
    gemm = context.number(context.chain.gemm)
    kernels = chain_kernels(context)
    with Simulation(
        context,
        name,
        cached_stores=True,
        payload_share=context.stores_payload_share,
        windows=any(one.plan.windowed for one in kernels),
    ) as simulation:
        simulation.machine.start_kernel()
        simulation.run((gemm,), UNTIL_GEMM)
        cycles = {context.chain.gemm.name: simulation.machine.now}
        simulation.machine.state.fixed["work"] = 0
        running = gemm
        for one in kernels:
            simulation.count_activates(running)
            cycles[one.name] = one.run(context, simulation)
            running = one.number
        return simulation.finish(moves_of(context), cycles, sum(cycles.values()))
