"""Ring collectives by kernels on the CUs, step by step."""

from sysmodel.gpu.collective import begin_step
from sysmodel.lib.phases import AG, RS
from sysmodel.lib.ring import gathered, scattered
from sysmodel.machine.offers import CONTEXT_COLLECTIVE, CONTEXT_NONE
from sysmodel.machine.program import collective_writes, staging_offset
from sysmodel.machine.until import UNTIL_COLLECTIVE, UNTIL_PROGRAMMED, UNTIL_QUIET

from .simulation import RunContext, Simulation

__all__ = ["LAST_ADDITION", "all_gather", "reduce_scatter"]

LAST_ADDITION = "last addition"


def reduce_scatter(context: RunContext, simulation: Simulation, *, alone: bool = True) -> int:
    """Reduce and scatter the output; return the number of cycles.

    With ``alone``, no other kernel runs, and the collective ends when the memory is idle.
    """
    machine, n = simulation.machine, context.kernel.gpus
    state, gpus = machine.state, range(machine.gpus)
    protocol = context.protocol
    offset = staging_offset(context.system.dram.channels)
    _map(context, simulation, RS, offset)
    begin = machine.now
    simulation.launch_kernel(RS)
    simulation.idle(protocol.reduce_scatter_ns)
    # A concurrent GEMM has another output.
    state.fixed["uses_l2"] = alone and not context.system.l2.flush_at_kernel_end
    for step in range(n - 1):
        simulation.idle(protocol.step_ns)
        for g, chunk in enumerate(simulation.begin_step(scattered, step)):
            begin_step(state, g, chunk, 1 if step == 0 else 2, offset)
        simulation.run("RS", UNTIL_COLLECTIVE)
    last = machine.now
    state.gpu["store_context"] = CONTEXT_NONE
    for g in gpus:
        begin_step(state, g, scattered(g, n - 1, n), 2, offset)
    simulation.run("RS", UNTIL_COLLECTIVE)
    if alone:
        simulation.run("RS", UNTIL_QUIET)
    state.fixed["uses_l2"] = 0
    simulation.span("reduce-scatter", "Communication", begin, machine.now)
    simulation.span(LAST_ADDITION, "Last addition", last, machine.now)
    return machine.now - begin


def all_gather(context: RunContext, simulation: Simulation, *, alone: bool = True) -> int:
    """Gather the reduced chunks; return the number of cycles."""
    machine, n = simulation.machine, context.kernel.gpus
    protocol = context.protocol
    _map(context, simulation, AG, 0)
    begin = machine.now
    simulation.launch_kernel(AG)
    simulation.idle(protocol.all_gather_ns)
    machine.state.fixed["uses_l2"] = alone and not context.system.l2.flush_at_kernel_end
    for step in range(n - 1):
        simulation.idle(protocol.step_ns)
        for g, chunk in enumerate(simulation.begin_step(gathered, step)):
            begin_step(machine.state, g, chunk, 1, 0)
        simulation.run("AG", UNTIL_COLLECTIVE)
    if alone:
        simulation.run("AG", UNTIL_QUIET)
    machine.state.fixed["uses_l2"] = 0
    simulation.span("all-gather", "Communication", begin, machine.now)
    return machine.now - begin


def _map(context: RunContext, simulation: Simulation, phase: int, offset: int) -> None:
    """Map the output so that stores to it leave for the neighbour, ``offset`` atoms further on."""
    simulation.machine.await_cleared()
    writes = collective_writes(context.kernel, CONTEXT_COLLECTIVE, offset=offset)
    simulation.program([writes] * simulation.machine.gpus, UNTIL_PROGRAMMED)
    state = simulation.machine.state
    state.gpu["phase"] = phase
    state.gpu["store_context"] = CONTEXT_COLLECTIVE
    state.fixed["copy_offset"] = offset
