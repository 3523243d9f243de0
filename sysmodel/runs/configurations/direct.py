"""T3 without a ring: the GEMM's stores go straight to the owners of their chunks, where the
hardware tracks them; then the DMA engine sends each GPU's chunk to all others.
"""

from itertools import zip_longest

from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.gpu.address_spaces import CONTEXT_GEMM
from sysmodel.machine.program import copy_writes
from sysmodel.machine.until import UNTIL_COPIED, UNTIL_QUIET, UNTIL_REDUCED, UNTIL_SENT
from sysmodel.runs.conservation import Moves
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.run_context import RunContext
from sysmodel.runs.simulation import Simulation
from sysmodel.runs.waiting import with_waits

__all__ = ["direct"]

_TRACK = "Communication"
_GATHER_PLACE = 2  # behind the GEMM and the reduce-scatter


def direct(context: RunContext, name: str, policy: str) -> CycleResult:
    """Simulate T3 with direct collectives under an arbitration policy."""
    chain = context.chain
    rs, gather = chain.reduction, chain.gather
    assert rs is not None  # the plan has checked the chain
    tracked = tracked_schedule("direct", context.kernel.gpus)
    with Simulation(context, name, tracked=tracked) as simulation:
        machine = simulation.machine
        zero = simulation.zero = machine.launch(
            [
                machine.map_writes(g, address_space=CONTEXT_GEMM, policy=policy)
                for g in range(machine.gpus)
            ]
        )
        simulation.run((context.number(chain.gemm), context.number(rs)), UNTIL_REDUCED)
        reduced = machine.now
        first_send = int(machine.state.gpu["first_send"].min())
        simulation.span("reduce-scatter", _TRACK, first_send, reduced, activity=rs.name)
        cycles = {
            chain.gemm.name: int(machine.state.kernel["finish_cycle"].max()) - zero,
            rs.name: reduced - first_send,
        }
        number = None if gather is None else context.number(gather)
        if gather is not None and number is not None:
            _all_gather(context, simulation, number)
            simulation.span("all-gather", _TRACK, reduced, machine.now, activity=gather.name)
            cycles[gather.name] = machine.now - reduced
        how = Moves(context.number(chain.gemm), context.number(rs), number, direct=True)
        result = simulation.finish(how, cycles, machine.now - zero)
    return with_waits(context, name, result)


def _all_gather(context: RunContext, simulation: Simulation, number: int) -> None:
    """Send each GPU's chunk to all other GPUs: read once, a packet of each atom to each of them."""
    machine, gpus = simulation.machine, context.kernel.gpus
    machine.state.fixed["work"] = 0
    machine.begin_collective(number)
    simulation.launch_kernel(_GATHER_PLACE)
    for distance in range(1, gpus):
        machine.expect([(g + distance) % gpus for g in range(gpus)])
    sent = (copy_writes(context.kernel, g, peers=range(gpus - 1)) for g in range(gpus))
    for index, batch in enumerate(zip_longest(*sent, fillvalue=[])):
        if index:
            simulation.run((number,), UNTIL_SENT)
        machine.write(list(batch))
    simulation.run((number,), UNTIL_COPIED)
    simulation.run((number,), UNTIL_QUIET)
