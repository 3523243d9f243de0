"""T3: the GEMM's stores drive the reduce-scatter; then the all-gather by the DMA engine."""

from itertools import zip_longest

from sysmodel.gpu.address_spaces import CONTEXT_GEMM
from sysmodel.gpu.workgroups import MODE_SCATTER
from sysmodel.lib.neighbours import gathered
from sysmodel.machine.program import copy_writes
from sysmodel.machine.until import UNTIL_COPIED, UNTIL_QUIET, UNTIL_REDUCED, UNTIL_SENT
from sysmodel.runs.conservation import Moves
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.program.activities import Collective
from sysmodel.runs.run_context import RunContext
from sysmodel.runs.simulation import Simulation
from sysmodel.runs.waiting import with_waits

__all__ = ["scatter", "transparent"]

_TRACK = "Communication"
_GATHER_PLACE = 2  # behind the GEMM and the reduce-scatter


def transparent(context: RunContext, name: str, policy: str) -> CycleResult:
    """Simulate T3 under an arbitration policy."""
    chain, rs = context.chain, _reduction(context)
    with Simulation(context, name) as simulation:
        machine = simulation.machine
        simulation.trace_tiles()
        zero = simulation.zero = _launch(context, simulation, policy)
        simulation.run((context.number(chain.gemm), context.number(rs)), UNTIL_REDUCED)
        gpu = machine.state.gpu
        reduced = machine.now
        first_send = int(gpu["first_send"].min())
        simulation.span("reduce-scatter", _TRACK, first_send, reduced, activity=rs.name)
        cycles = {
            chain.gemm.name: int(machine.state.kernel["finish_cycle"].max()) - zero,
            rs.name: reduced - first_send,
        }
        if chain.gather is not None:
            _all_gather(context, simulation, context.number(chain.gather))
            gather = chain.gather.name
            simulation.span("all-gather", _TRACK, reduced, machine.now, activity=gather)
            cycles[gather] = machine.now - reduced
        number = None if chain.gather is None else context.number(chain.gather)
        how = Moves(context.number(chain.gemm), context.number(rs), number, tracked=True)
        result = simulation.finish(how, cycles, machine.now - zero)
    return with_waits(context, name, result)


def scatter(context: RunContext, name: str = "rs-nmc") -> CycleResult:
    """Simulate the reduce-scatter by the T3 hardware alone; the partial products are in memory."""
    rs = _reduction(context)
    number = context.number(rs)
    with Simulation(context, name, mode=MODE_SCATTER) as simulation:
        simulation.machine.state.gpu["kernel_activity"] = number
        zero = simulation.zero = _launch(context, simulation, "round-robin")
        simulation.run((number,), UNTIL_REDUCED)
        cycles = simulation.machine.now - zero
        how = Moves(gemm=None, scatter=number, gather=None, tracked=True)
        return simulation.finish(how, {rs.name: cycles}, cycles)


def _reduction(context: RunContext) -> Collective:
    reduction = context.chain.reduction
    assert reduction is not None  # the plan has checked the chain
    return reduction


def _launch(context: RunContext, simulation: Simulation, policy: str) -> int:
    return simulation.machine.launch(
        [
            simulation.machine.map_writes(g, address_space=CONTEXT_GEMM, policy=policy)
            for g in range(simulation.machine.gpus)
        ]
    )


def _all_gather(context: RunContext, simulation: Simulation, number: int) -> None:
    machine, n = simulation.machine, context.kernel.gpus
    machine.state.fixed["work"] = 0
    machine.begin_collective(number)
    simulation.launch_kernel(_GATHER_PLACE)
    for step in range(n - 1):
        sent = simulation.begin_step(gathered, step)
        copies = zip_longest(*(copy_writes(context.kernel, chunk) for chunk in sent), fillvalue=[])
        for index, batch in enumerate(copies):
            if index:
                simulation.run((number,), UNTIL_SENT)
            machine.write(list(batch))
        simulation.run((number,), UNTIL_COPIED)
    simulation.run((number,), UNTIL_QUIET)
