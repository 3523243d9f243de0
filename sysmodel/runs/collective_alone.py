"""Collective alone: a schedule on compute units, on a buffer of any size and on any topology."""

from sysmodel.collectives.check import check
from sysmodel.collectives.group import Group
from sysmodel.collectives.schedule import Chunk, Expanded
from sysmodel.collectives.traffic import ChunkBytes, traffic
from sysmodel.config.library import Protocol
from sysmodel.config.system import System
from sysmodel.config.topology_shapes import Topology
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.errors import SimulationError
from sysmodel.lib.progress import Report, no_progress
from sysmodel.lib.small_pages import small_pages
from sysmodel.network.expansion import expand
from sysmodel.network.fabric import Fabric
from sysmodel.network.invariance import why_not_invariant
from sysmodel.network.load import Load, load_of
from sysmodel.network.switching import require_switches

from .collective_buffer import Matrix, buffer_of
from .collective_channels import simulated_channels
from .collective_kernels import CollectiveKernel, CollectivePlan
from .collective_layout import ChunkAtoms
from .collective_result import CollectiveResult
from .engines import EngineName
from .library_choice import in_switch_protocol, running
from .options import RunOptions
from .run_context import RunContext
from .simulation import Simulation

__all__ = ["simulate_collective"]


def simulate_collective(
    system: System,
    schedule: Expanded,
    message: int | Matrix,
    *,
    topology: Topology,
    channels: int | None = None,
    engine: EngineName = "golden",
    report: Report = no_progress,
) -> CollectiveResult:
    """Simulate a collective alone.

    The kernels are those of the configuration ``sequential``. nccl-tests divide the time of many
    collectives in a row by their number. A stream starts the next collective when the one before
    has ended, so each of them has a launch and an end of its own, and the two times compare. They
    differ in the caches: here nothing is cached at the start, as with buffers beyond the L2's size,
    while a small buffer is still in the L2 from the repetition before.

    Parameters
    ----------
    schedule : Expanded
        Schedule, which is checked before it runs.
    message : int or sequence of sequences
        Bytes of the whole buffer, as nccl-tests count: the result of an all-gather, a rank's input
        of a reduce-scatter or an all-to-all, or what a rank sends. They are rounded up to 512 bytes
        for each tile. A matrix has the bytes that each rank of an all-to-all-v has for each rank,
        ``message[sender][receiver]``, which are rounded up to 32.
    channels : int, optional
        Simulated memory channels. By default as many as take about two seconds, at least as many
        as represent all.

    Raises
    ------
    InputError
        The schedule is not sound, the model does not cut such a message, or the topology has no
        link that the schedule needs.
    SimulationError
        Bytes are lost, or the simulation makes no progress.
    """
    check(schedule)
    gpus, system = schedule.ranks, running(system, schedule)
    operation, message_bytes, kernel, chunk_bytes = buffer_of(schedule, message)
    fabric = _fabric(system, topology, schedule)
    costs = traffic(schedule, chunk_bytes)
    load = load_of(fabric, schedule, chunk_bytes)
    memory_ns = ((one.read + one.written) / system.dram_bytes_per_ns for one in costs)
    bound_ns = max(load.bound_ns("stores"), *memory_ns)
    simulated = simulated_channels(system, kernel, bound_ns, channels)
    plan = CollectivePlan(kernel, system, schedule, _atoms_of(chunk_bytes))
    alike = operation == schedule.operation and not plan.windowed
    context = RunContext(
        system,
        kernel,
        RunOptions(engine=engine),
        report,
        channels=simulated,
        mirror=alike and why_not_invariant(fabric, Group((gpus,)), schedule) is None,
        protocol=_protocol(system, fabric, schedule, kernel.output_bytes, load),
    )
    with _simulation(context, schedule, topology, windows=plan.windowed) as simulation:
        simulation.machine.state.fixed["work"] = 0  # no workgroup of a GEMM starts
        collective = CollectiveKernel(context, simulation, plan)
        cycles = collective.run()
        _check_moved(collective, simulation)
        sums = int(simulation.machine.state.fixed["most_sums"][0])
    return CollectiveResult(
        name=schedule.name,
        operation=operation,
        topology=topology.name,
        gpus=gpus,
        message_bytes=message_bytes,
        channels=simulated,
        time_ns=cycles * system.cycle_ns,
        bound_ns=bound_ns,
        sent_bytes=max(one.sent for one in costs),
        read_bytes=max(one.read for one in costs),
        written_bytes=max(one.written for one in costs),
        sums_in_switches=sums * system.dram.channels,
    )


def _protocol(
    system: System, fabric: Fabric, schedule: Expanded, output_bytes: int, load: Load
) -> Protocol:
    """Protocol that the library takes for the chunks, at the rate of the busiest link."""
    if in_switch := in_switch_protocol(system, fabric, schedule, output_bytes):
        return in_switch
    chunk_bytes = output_bytes / schedule.ranks
    halves = 2 if schedule.operation == "all-reduce" else 1
    sent_bytes = halves * (schedule.ranks - 1) * chunk_bytes
    busy_ns = load.busy_ns("stores")
    rate_gb_per_s = sent_bytes / busy_ns if busy_ns else system.link.stores_gb_per_s
    return system.collective.protocol(chunk_bytes, schedule.ranks, rate_gb_per_s)


def _simulation(
    context: RunContext, schedule: Expanded, topology: Topology, *, windows: bool
) -> Simulation:
    with small_pages():  # a collective uses little of the records of its many channels
        return Simulation(
            context,
            schedule.operation,
            cached_stores=True,
            payload_share=context.stores_payload_share,
            topology=topology,
            windows=windows,
        )


def _fabric(system: System, topology: Topology, schedule: Expanded) -> Fabric:
    """Expand the topology for a schedule's GPUs.

    Raises
    ------
    InputError
        The number of GPUs does not fit, or no switch copies or adds the schedule's packets.
    """
    topology.check_gpus(schedule.ranks, "ranks")
    fabric = expand(topology, schedule.ranks, system.link)
    require_switches(fabric, schedule)
    return fabric


def _atoms_of(chunk_bytes: ChunkBytes) -> ChunkAtoms:
    def atoms(chunk: Chunk) -> int:
        return chunk_bytes(chunk) // ATOM_BYTES

    return atoms


def _check_moved(collective: CollectiveKernel, simulation: Simulation) -> None:
    """Compare the bytes that each GPU moved with those of the schedule.

    Raises
    ------
    SimulationError
        An access or a packet is missing or surplus.
    """
    simulation.await_last_stores()
    gpu = simulation.machine.state.gpu
    for g, moved in enumerate(collective.moved):
        counted = {
            "read": gpu["reads"][g].sum() + gpu["l2_reads"][g].sum(),
            "written": gpu["writes"][g].sum(),
            "sent": gpu["link_bytes"][g].sum() // ATOM_BYTES,
        }
        for name, count in counted.items():
            wanted = getattr(moved, name)
            if count != wanted:
                raise SimulationError(
                    f"GPU {g}: bytes are not conserved: {count * ATOM_BYTES} bytes {name} in the "
                    f"simulated channels, and the schedule has {wanted * ATOM_BYTES}"
                )
