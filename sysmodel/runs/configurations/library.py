"""Library: GEMM, then its collectives as NCCL or RCCL would run them for their size."""

from dataclasses import replace

from sysmodel.network.load import load_of
from sysmodel.runs.collective_buffer import buffer_of, message_limits
from sysmodel.runs.collective_channels import simulated_channels
from sysmodel.runs.collective_kernels import CollectiveKernel, CollectivePlan
from sysmodel.runs.conservation import Moves
from sysmodel.runs.counters import new_counters
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.equal_shares import equal_share
from sysmodel.runs.library_choice import library_protocol, running
from sysmodel.runs.run_context import RunContext
from sysmodel.runs.simulation import Simulation

__all__ = ["library"]


def library(context: RunContext, name: str) -> CycleResult:
    """Simulate the library's collective on all GPUs, behind the GEMM of ``sequential``.

    The output is one buffer for the library, which cuts it into contiguous chunks. Nothing of it is
    in the L2. A reduce-scatter and the all-gather of it are one all-reduce, whose time and counts
    both share equally.
    """
    choice, base = context.choice, context.base
    assert choice is not None and base is not None  # else the result is that of ``sequential``
    schedule = context.network.schedule(choice.operation, choice.algorithm)
    system, network = running(context.system, schedule), context.network
    least_bytes, _ = message_limits(network.gpus, schedule.operation)
    buffer = buffer_of(schedule, max(least_bytes, context.kernel.output_bytes))
    plan = CollectivePlan(buffer.kernel, system, schedule)
    load = load_of(network.fabric, schedule, buffer.chunk_bytes)
    channels = simulated_channels(system, buffer.kernel, load.bound_ns("stores"))
    reduction = context.chain.collectives[0]
    every_gpu = context.of_every_gpu(
        system, library_protocol(network, choice), buffer.kernel, channels
    )
    with Simulation(
        every_gpu,
        name,
        cached_stores=True,
        payload_share=every_gpu.stores_payload_share,
        windows=plan.windowed,
    ) as simulation:
        simulation.machine.state.fixed["work"] = 0  # no workgroup of a GEMM starts
        kernel = CollectiveKernel(every_gpu, simulation, plan, activity=reduction)
        cycles = kernel.run()
        others = ((context.number(reduction), schedule),)
        how = Moves(gemm=None, scatter=None, gather=None, others=others)
        found = simulation.finish(how, {reduction.name: cycles}, cycles)
    return _behind_gemm(context, base, found)


def _behind_gemm(context: RunContext, base: CycleResult, found: CycleResult) -> CycleResult:
    """Put a collective behind the GEMM of ``sequential``, and divide it among the chain's."""
    gemm, collectives = context.chain.gemm, context.chain.collectives
    number = context.number(gemm)
    cycles, counts = {gemm.name: base.cycles[gemm.name]}, new_counters()
    counts[number] = base.counts[number]
    whole = found.counts[context.number(collectives[0])]
    for place, one in enumerate(collectives):
        cycles[one.name] = equal_share(found.total_cycles, place, len(collectives))
        for name in counts.dtype.names or ():
            counts[name][context.number(one)] = equal_share(whole[name], place, len(collectives))
    return replace(
        found,
        cycles=cycles,
        total_cycles=base.cycles[gemm.name] + found.total_cycles,
        gemms=base.gemms,
        counts=counts,
        timeline=None,
    )
