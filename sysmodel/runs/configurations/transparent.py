"""T3: the GEMM's stores drive the reduce-scatter; then the all-gather by the DMA engine."""

from itertools import zip_longest

from sysmodel.gpu.workgroups import MODE_SCATTER
from sysmodel.lib.ring import gathered
from sysmodel.machine.offers import CONTEXT_GEMM
from sysmodel.machine.program import copy_writes, map_writes
from sysmodel.machine.until import UNTIL_COPIED, UNTIL_QUIET, UNTIL_REDUCED, UNTIL_SENT
from sysmodel.runs.conservation import Reduction
from sysmodel.runs.counters import AG, RS
from sysmodel.runs.phases import PhaseResult
from sysmodel.runs.simulation import RunContext, Simulation
from sysmodel.runs.waiting import with_waits

__all__ = ["scatter", "transparent"]


def transparent(context: RunContext, name: str, policy: str) -> PhaseResult:
    """Simulate T3 under an arbitration policy."""
    with Simulation(context, name) as simulation:
        machine = simulation.machine
        simulation.trace_tiles()
        zero = simulation.zero = _launch(context, simulation, policy, updates_per_atom=2)
        simulation.run("GEMM and RS", UNTIL_REDUCED)
        gpu = machine.state.gpu
        reduced = machine.now
        first_send = int(gpu["first_send"].min())
        simulation.span("reduce-scatter", "Communication", first_send, reduced)
        _all_gather(context, simulation)
        simulation.span("all-gather", "Communication", reduced, machine.now)
        result = simulation.finish(
            Reduction(tracked=True),
            gemm_cycles=int(gpu["finish_cycle"].max()) - zero,
            rs_cycles=reduced - first_send,
            ag_cycles=machine.now - reduced,
            total_cycles=machine.now - zero,
        )
    return with_waits(context, name, result)


def scatter(context: RunContext, name: str = "rs-nmc") -> PhaseResult:
    """Simulate the reduce-scatter by the T3 hardware alone; the partial products are in memory."""
    with Simulation(context, name, mode=MODE_SCATTER) as simulation:
        simulation.machine.state.gpu["kernel_activity"] = RS
        zero = simulation.zero = _launch(context, simulation, "round-robin", updates_per_atom=1)
        simulation.run("RS", UNTIL_REDUCED)
        cycles = simulation.machine.now - zero
        how = Reduction(gemm=False, tracked=True, gather=False)
        return simulation.finish(how, rs_cycles=cycles, total_cycles=cycles)


def _launch(context: RunContext, simulation: Simulation, policy: str, updates_per_atom: int) -> int:
    return simulation.machine.launch(
        [
            map_writes(
                context.kernel,
                context.system,
                g,
                address_space=CONTEXT_GEMM,
                policy=policy,
                updates_per_atom=updates_per_atom,
            )
            for g in range(simulation.machine.gpus)
        ]
    )


def _all_gather(context: RunContext, simulation: Simulation) -> None:
    machine, n = simulation.machine, context.kernel.gpus
    machine.state.fixed["work"] = 0
    machine.begin_collective(AG)
    simulation.launch_kernel(AG)
    for step in range(n - 1):
        sent = simulation.begin_step(gathered, step)
        copies = zip_longest(*(copy_writes(context.kernel, chunk) for chunk in sent), fillvalue=[])
        for number, batch in enumerate(copies):
            if number:
                simulation.run("AG", UNTIL_SENT)
            machine.write(list(batch))
        simulation.run("AG", UNTIL_COPIED)
    simulation.run("AG", UNTIL_QUIET)
