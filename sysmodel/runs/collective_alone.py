"""Collective alone: a schedule on compute units, on a buffer of any size and on any topology."""

from sysmodel.collectives.check import check
from sysmodel.collectives.group import Group
from sysmodel.collectives.schedule import Chunk, Expanded, Operation
from sysmodel.collectives.traffic import ChunkBytes, equal_chunks, traffic
from sysmodel.config.system import System
from sysmodel.config.topology_shapes import Topology
from sysmodel.config.workload import LARGEST_TP
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.geometry.placement import MOST_OUTPUT_ATOMS
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError, SimulationError, short
from sysmodel.lib.progress import Report, no_progress
from sysmodel.machine.sampling import samples, stands_for_all
from sysmodel.network.expansion import expand
from sysmodel.network.invariance import why_not_invariant
from sysmodel.network.load import load_of

from .collective_kernels import CollectiveKernel, CollectivePlan
from .collective_layout import ChunkAtoms
from .collective_result import CollectiveResult
from .engines import EngineName
from .options import RunOptions
from .simulation import RunContext, Simulation

__all__ = ["message_limits", "simulate_collective"]

_ROW = 256  # elements of two bytes, contiguous: as much as a channel holds in one piece
_ROW_BYTES = 2 * _ROW
_MOST_TILE_BYTES = 1 << 16  # with 256 channels of 256 bytes, a tile has an atom in each channel
_LAST_STORES_CYCLES = 1000
# Cycles times channels of all GPUs: about two seconds of the golden engine.
_MOST_WORK = 4_000_000


def message_limits(gpus: int, operation: Operation = "all-reduce") -> tuple[int, int]:
    """Smallest and largest message in bytes that the model cuts into a chunk for each GPU."""
    chunks = _chunks(operation, gpus)
    return chunks * _ROW_BYTES, MOST_OUTPUT_ATOMS * ATOM_BYTES * chunks // gpus


def _chunks(operation: Operation, gpus: int) -> int:
    """Chunks of a message: one for each GPU, but for a message to one peer."""
    return 1 if operation == "send" else gpus


def simulate_collective(
    system: System,
    schedule: Expanded,
    message_bytes: int,
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
    message_bytes : int
        Bytes of the whole buffer, as nccl-tests count: the result of an all-gather, a rank's input
        of a reduce-scatter or an all-to-all, or what a rank sends. They are rounded up to 512 bytes
        for each tile.
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
    gpus = schedule.ranks
    kernel = _buffer(schedule, message_bytes)
    chunk_bytes = equal_chunks(schedule, kernel.output_bytes // gpus)
    fabric = expand(topology, gpus, system.link)
    costs = traffic(schedule, chunk_bytes)
    link_ns = load_of(fabric, schedule, chunk_bytes).bound_ns("stores")
    bound_ns = max(link_ns, *((one.read + one.written) / system.dram_bytes_per_ns for one in costs))
    simulated = channels or _channels(system, kernel, bound_ns)
    plan = CollectivePlan(kernel, system, schedule, _atoms_of(chunk_bytes))
    mirror = not plan.windowed and why_not_invariant(fabric, Group((gpus,)), schedule) is None
    context = RunContext(
        system, kernel, RunOptions(engine=engine), report, channels=simulated, mirror=mirror
    )
    with Simulation(
        context,
        schedule.operation,
        cached_stores=True,
        payload_share=context.stores_payload_share,
        topology=topology,
        windows=plan.windowed,
    ) as simulation:
        machine = simulation.machine
        machine.state.fixed["work"] = 0  # no workgroup of a GEMM starts
        collective = CollectiveKernel(context, simulation, plan)
        cycles = collective.run()
        # The last stores may still be in the hardware; nothing follows that would push them out.
        machine.idle(_LAST_STORES_CYCLES)
        _check_moved(collective, simulation)
    return CollectiveResult(
        name=schedule.name,
        operation=schedule.operation,
        topology=topology.name,
        gpus=gpus,
        message_bytes=message_bytes,
        channels=simulated,
        time_ns=cycles * system.cycle_ns,
        bound_ns=bound_ns,
        sent_bytes=max(one.sent for one in costs),
        read_bytes=max(one.read for one in costs),
        written_bytes=max(one.written for one in costs),
    )


def _atoms_of(chunk_bytes: ChunkBytes) -> ChunkAtoms:
    def atoms(chunk: Chunk) -> int:
        return chunk_bytes(chunk) // ATOM_BYTES

    return atoms


def _buffer(schedule: Expanded, message_bytes: int) -> Kernel:
    """Output whose chunks are contiguous parts of a buffer, each cut into equal tiles."""
    gpus = schedule.ranks
    if not 2 <= gpus <= LARGEST_TP:
        raise InputError("gpus", f"{short(gpus)} is not allowed; allowed: 2 to {LARGEST_TP}")
    least, most = message_limits(gpus, schedule.operation)
    if not least <= message_bytes <= most:
        raise InputError(
            "bytes",
            f"{short(message_bytes)} is not allowed; allowed for {gpus} GPUs: {least} to {most}",
        )
    chunk = -(-message_bytes // _chunks(schedule.operation, gpus))
    tiles = -(-chunk // _MOST_TILE_BYTES)
    rows = -(-chunk // (tiles * _ROW_BYTES))
    tiling = Tiling(
        m=rows * tiles * gpus,
        n=_ROW,
        k=_ROW,
        tile_m=rows,
        tile_n=_ROW,
        depth_u=_ROW,
        waves_m=1,
        waves_n=1,
        prefetch_depth=1,
    )
    return Kernel(
        OutputLayout(tiling, column_major=False),
        Chunks(tiling=tiling, owners=gpus, workgroup_mapping=tiles, grid=(gpus, 1)),
    )


def _channels(system: System, buffer: Kernel, bound_ns: float) -> int:
    """Largest number of channels that is little work, or the smallest that represents all."""
    cycles = buffer.gpus * bound_ns / system.cycle_ns
    numbers = [*samples(system)]
    little = sum(one * cycles <= _MOST_WORK for one in numbers)
    candidates = numbers[max(0, little - 1) :]
    return next(one for one in candidates if stands_for_all(system, buffer, one))


def _check_moved(collective: CollectiveKernel, simulation: Simulation) -> None:
    """Compare the bytes that each GPU moved with those of the schedule.

    Raises
    ------
    SimulationError
        An access or a packet is missing or surplus.
    """
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
