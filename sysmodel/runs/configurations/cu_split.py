"""Two kernels at once: the CUs are split between a GEMM and the collectives of an earlier GEMM."""

from sysmodel.machine.until import UNTIL_GEMM
from sysmodel.runs.collective_kernels import all_gather, reduce_scatter
from sysmodel.runs.conservation import Reduction
from sysmodel.runs.phases import PhaseResult
from sysmodel.runs.simulation import RunContext, Simulation

__all__ = ["cu_split"]


def cu_split(context: RunContext, name: str, collective_cus: int) -> PhaseResult:
    """Simulate a GEMM concurrently with the all-reduce of an equal output of an earlier GEMM.

    The collectives have ``collective_cus`` CUs, the GEMM has the others; neither waits for the
    other, and they share memory and clocks. No software scheme can overlap more.
    """
    with Simulation(
        context,
        name,
        cached_stores=True,
        collective_cus=collective_cus,
        payload_share=context.stores_payload_share,
    ) as simulation:
        simulation.machine.start_kernel()
        rs = reduce_scatter(context, simulation, alone=False)
        ag = all_gather(context, simulation, alone=False)
        simulation.run("GEMM", UNTIL_GEMM)
        return simulation.finish(
            Reduction(beside=True),
            gemm_cycles=int(simulation.machine.state.gpu["finish_cycle"].max()),
            rs_cycles=rs,
            ag_cycles=ag,
            total_cycles=simulation.machine.now,
        )
