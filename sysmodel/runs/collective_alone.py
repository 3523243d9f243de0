"""Collective of the baseline alone: a buffer of any size, without the GEMM before it."""

from collections.abc import Callable
from typing import Literal, get_args

from sysmodel.config.system import System
from sysmodel.config.workload import LARGEST_TP
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.geometry.placement import MOST_OUTPUT_ATOMS
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError, short
from sysmodel.lib.progress import Report, no_progress
from sysmodel.machine.sampling import samples, stands_for_all

from .collective_kernels import all_gather, reduce_scatter
from .conservation import Reduction
from .engines import EngineName
from .options import RunOptions
from .simulation import RunContext, Simulation

__all__ = ["OPERATIONS", "Operation", "message_limits", "simulate_collective"]

Operation = Literal["reduce_scatter", "all_gather"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

_KERNELS: dict[Operation, Callable[..., int]] = {
    "reduce_scatter": reduce_scatter,
    "all_gather": all_gather,
}
_MOVED: dict[Operation, Reduction] = {
    "reduce_scatter": Reduction(gemm=False, gather=False),
    "all_gather": Reduction(gemm=False, scatter=False),
}
_ROW = 256  # elements of two bytes, contiguous: as much as a channel holds in one piece
_ROW_BYTES = 2 * _ROW
_MOST_TILE_BYTES = 1 << 16  # with 256 channels of 256 bytes, a tile has an atom in each channel
_LAST_STORES_CYCLES = 1000
_MOST_WORK = 4_000_000  # cycles times channels, about two seconds of the golden engine


def message_limits(gpus: int) -> tuple[int, int]:
    """Smallest and largest message in bytes that the model cuts into a chunk for each GPU."""
    return gpus * _ROW_BYTES, MOST_OUTPUT_ATOMS * ATOM_BYTES


def simulate_collective(
    system: System,
    operation: Operation,
    message_bytes: int,
    gpus: int,
    *,
    channels: int | None = None,
    engine: EngineName = "golden",
    report: Report = no_progress,
) -> float:
    """Simulate a ring collective alone; return its time in µs.

    The kernels are those of the configuration ``sequential``. The time is the one that ``t3 run``
    calls ``rs_ns`` or ``ag_ns``: from the kernel's launch, which it contains, to the last byte in
    the memory. nccl-tests divide the time of many collectives in a row by their number. A stream
    starts the next collective when the one before has ended, so each of them has a launch and an
    end of its own, and the two times compare. They differ in the caches: here nothing is cached at
    the start, as with buffers beyond the L2's size, while a small buffer is still in the L2 from
    the repetition before.

    Parameters
    ----------
    message_bytes : int
        Bytes of the whole buffer, as nccl-tests count: the result of an all-gather, or a rank's
        input of a reduce-scatter. They are rounded up to 512 bytes for each tile.
    gpus : int
        GPUs of the ring.
    channels : int, optional
        Simulated memory channels. By default as many as take about two seconds, at least as many
        as represent all.

    Raises
    ------
    InputError
        The model does not cut such a message.
    SimulationError
        Bytes are lost, or the simulation makes no progress.
    """
    kernel = _buffer(message_bytes, gpus)
    context = RunContext(
        system,
        kernel,
        RunOptions(engine=engine),
        report,
        channels=channels or _channels(system, kernel),
        mirror=True,
    )
    with Simulation(
        context, operation, cached_stores=True, payload_share=context.stores_payload_share
    ) as simulation:
        simulation.machine.state.fixed["work"] = 0  # no workgroup of a GEMM starts
        cycles = _KERNELS[operation](context, simulation)
        # The last stores may still be in the hardware; nothing follows that would push them out.
        simulation.machine.idle(_LAST_STORES_CYCLES)
        simulation.conserved(_MOVED[operation])
    return cycles * system.cycle_ns / 1e3


def _buffer(message_bytes: int, gpus: int) -> Kernel:
    """Output whose chunks are contiguous parts of a buffer, each cut into equal tiles."""
    if not 2 <= gpus <= LARGEST_TP:
        raise InputError("gpus", f"{short(gpus)} is not allowed; allowed: 2 to {LARGEST_TP}")
    least, most = message_limits(gpus)
    if not least <= message_bytes <= most:
        raise InputError(
            "bytes",
            f"{short(message_bytes)} is not allowed; allowed for {gpus} GPUs: {least} to {most}",
        )
    chunk = -(-message_bytes // gpus)
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


def _channels(system: System, buffer: Kernel) -> int:
    """Largest number of channels that is little work, or the smallest that represents all."""
    steps, link = buffer.gpus - 1, system.link
    chunk = buffer.output_bytes / buffer.gpus
    rate = link.bandwidth_gb_per_s * system.stores_payload_share(chunk, buffer.gpus)
    step_ns = chunk / rate + link.latency_ns
    cycles = steps * step_ns / system.cycle_ns
    numbers = [*samples(system)]
    little = sum(one * cycles <= _MOST_WORK for one in numbers)
    candidates = numbers[max(0, little - 1) :]
    return next(one for one in candidates if stands_for_all(system, buffer, one))
