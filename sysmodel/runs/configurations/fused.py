"""Fused GEMM: its epilogue stores each tile at the tile's owner, and a kernel adds what arrives."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sysmodel.gpu.address_spaces import CONTEXT_COLLECTIVE, CONTEXT_NONE
from sysmodel.gpu.collective_step import Task, atoms_of, begin_step, reserve_tasks
from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.workgroups import STORES
from sysmodel.machine.compute_units import set_up_collective_units
from sysmodel.machine.machine import Machine
from sysmodel.machine.program import Writes, collective_writes
from sysmodel.machine.until import UNTIL_COLLECTIVE, UNTIL_GEMM, UNTIL_QUIET
from sysmodel.network.mirror import PLACE_OFFSET
from sysmodel.network.rates import scale_rates
from sysmodel.runs.collective_kernels import LAST_ADDITION, CollectivePlan, chain_kernels, moves_of
from sysmodel.runs.conservation import Moves
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.owner_stores import mirrored_atoms, owner_atoms, owner_places
from sysmodel.runs.program.activities import Collective
from sysmodel.runs.run_context import RunContext
from sysmodel.runs.simulation import Simulation
from sysmodel.runs.waiting import with_waits

__all__ = ["fused"]

_Tasks = list[list[Task]]

_SUM_PLACE = 1  # behind the GEMM
_OWN_CHUNK = 0  # of GPU 0


def fused(context: RunContext, name: str = "fused") -> CycleResult:
    """Simulate a GEMM that stores its tiles at their owners, the sums there, and the all-gather.

    The sums begin when the GEMMs of all GPUs have ended and their flags have been seen, as in
    kernels of today on one node. The library gathers the sums.
    """
    chain, rs = context.chain, _reduction(context)
    gemm, scatter = context.number(chain.gemm), context.number(rs)
    share = context.system.fused.stores_payload_share
    with Simulation(context, name, payload_share=share, windows=True) as simulation:
        machine = simulation.machine
        tasks = _map(context, simulation, scatter)
        slower = _share_of_links(context, machine)
        scale_rates(machine.state, slower)
        zero = simulation.zero = machine.now
        machine.state.fixed["work"] = 1
        machine.start_kernel()
        simulation.run((gemm, scatter), UNTIL_GEMM)
        simulation.run((gemm, scatter), UNTIL_COLLECTIVE)
        machine.state.fixed["work"] = machine.state.fixed["to_owners"] = 0
        scale_rates(machine.state, 1 / slower)
        simulation.idle(context.system.fused.flag_ns)
        begin = machine.now
        _sum(context, simulation, scatter, tasks)
        first_send = int(machine.state.gpu["first_send"].min())
        simulation.span(
            "reduce-scatter", "Communication", first_send, machine.now, activity=rs.name
        )
        simulation.span(LAST_ADDITION, "Last addition", begin, machine.now)
        cycles = {
            chain.gemm.name: int(machine.state.kernel["finish_cycle"].max()) - zero,
            rs.name: machine.now - first_send,
        }
        for one in chain_kernels(context):
            if one.activity is chain.gather:
                simulation.send_at(context.stores_payload_share, one.number)
                cycles[one.name] = one.run(context, simulation)
        result = simulation.finish(_moves(context), cycles, machine.now - zero)
    return with_waits(context, name, result)


def _reduction(context: RunContext) -> Collective:
    reduction = context.chain.reduction
    assert reduction is not None  # the plan has checked the chain
    return reduction


def _share_of_links(context: RunContext, machine: Machine) -> float:
    """Share of the links' rate at which the CUs of a GPU can send."""
    system = context.system
    of_cus = system.fused.cu_stores_gb_per_s * system.gpu.compute_units * system.cycle_ns
    of_links = float(machine.state.gpu["link_rate_bytes"].max() * machine.whole)  # of all channels
    return min(1.0, of_cus / of_links)


def _map(context: RunContext, simulation: Simulation, scatter: int) -> _Tasks:
    """Map the owners' memories, and address the GEMM's stores to them; return the tasks of the
    sums, by GPU."""
    machine, kernel = simulation.machine, context.kernel
    schedule = context.network.schedule("reduce-scatter", "direct")
    (half,) = CollectivePlan(kernel, context.system, schedule).halves
    send, add = half.steps
    gpus = machine.gpus
    sends = [half.layout.tasks(g, work) for g, work in enumerate(send.work[:gpus])]
    sums = [half.layout.tasks(g, work) for g, work in enumerate(add.work[:gpus])]
    machine.state = reserve_tasks(machine.state, sums)
    if machine.mirror:
        writes = _map_mirror(machine, kernel, sends[0])
    else:
        stores = owner_atoms(machine.state, kernel, sends)
        machine.state = machine.state._replace(owner_atom=stores)
        writes = half.layout.writes
    machine.state.kernel["space"] = CONTEXT_NONE
    if context.system.fused.staged_stores:
        machine.state.fixed["store_buffer"] = STORES
    machine.state.fixed["work"] = 0
    simulation.launch_stores(writes)
    machine.begin_collective(scatter)
    for g in range(gpus):
        own = atoms_of(machine.state, g, None)
        machine.state.gpu["expected"][g] += (kernel.gpus - 1) * own
    return sums


def _map_mirror(machine: Machine, kernel: Kernel, sends: Sequence[Task]) -> Callable[[int], Writes]:
    """Address the stores of a GPU that stands for all; return what maps the owners' places."""
    places = owner_places(sends)
    stores = mirrored_atoms(machine.state, kernel, places)
    machine.state = machine.state._replace(owner_atom=stores, mirror_place=places)
    machine.state.fixed["to_owners"], machine.state.fixed["copy_to"] = 1, _OWN_CHUNK
    offsets = places[:, PLACE_OFFSET]
    staged = int(offsets[0]), int(offsets[-1])
    return lambda generation: collective_writes(
        kernel, CONTEXT_COLLECTIVE, staged=staged, generation=generation
    )


def _sum(context: RunContext, simulation: Simulation, scatter: int, tasks: _Tasks) -> None:
    """Add the contributions of each GPU's chunk."""
    machine, system = simulation.machine, context.system
    simulation.launch_kernel(_SUM_PLACE)
    contributions = context.kernel.gpus
    moved = system.fused.sum_memory_share * system.dram_bytes_per_ns * system.cycle_ns
    loaded = moved * contributions / (contributions + 1)  # the rest is the sum
    set_up_collective_units(machine.state, system, system.sum_cus, loaded)
    for g in range(machine.gpus):
        begin_step(machine.state, g, tasks[g])
    simulation.run((scatter,), UNTIL_COLLECTIVE)
    simulation.run((scatter,), UNTIL_QUIET)
    set_up_collective_units(machine.state, system, system.collective_cus)


def _moves(context: RunContext) -> Moves:
    """Chunks that the configuration moves: those of the all-gather as in ``sequential``."""
    number = context.number(_reduction(context))
    moves = moves_of(context)
    others = tuple(one for one in moves.others if one[0] != number)
    return replace(moves, scatter=number, others=others, stored=True)
