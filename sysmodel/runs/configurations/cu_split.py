"""Two kernels at once: the CUs are split between a GEMM and the collectives of an earlier GEMM."""

from dataclasses import replace

from sysmodel.machine.until import UNTIL_GEMM
from sysmodel.runs.collective_kernels import chain_kernels, moves_of
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.run_context import RunContext
from sysmodel.runs.simulation import Simulation

__all__ = ["cu_split", "two_batch"]


def cu_split(context: RunContext, name: str, collective_cus: int) -> CycleResult:
    """Simulate a GEMM concurrently with the collectives of an equal output of an earlier GEMM.

    The collectives have ``collective_cus`` CUs, the GEMM has the others; neither waits for the
    other, and they share memory and clocks. No software scheme can overlap more.
    """
    kernels = chain_kernels(context)
    with Simulation(
        context,
        name,
        cached_stores=True,
        collective_cus=collective_cus,
        payload_share=context.stores_payload_share,
        windows=any(one.plan.windowed for one in kernels),
    ) as simulation:
        simulation.machine.start_kernel()
        cycles = {one.name: one.run(context, simulation, alone=False) for one in kernels}
        simulation.run((context.number(context.chain.gemm),), UNTIL_GEMM)
        gemm = int(simulation.machine.state.kernel["finish_cycle"].max())
        return simulation.finish(
            replace(moves_of(context), beside=True),
            {context.chain.gemm.name: gemm, **cycles},
            simulation.machine.now,
        )


def two_batch(context: RunContext, name: str, collective_cus: int) -> CycleResult:
    """Simulate a half of a batch, whose GEMM runs beside the collectives of the other half.

    In the steady state the halves take turns, and the sublayer takes twice the time.
    """
    result = cu_split(context, name, collective_cus)
    words = f"{collective_cus} of {context.system.gpu.compute_units} CUs for the collectives"
    return replace(result, chosen={context.chain.gemm.name: words})
