"""Buffer of a collective alone: a message cut into chunks, as the output of a kernel."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from sysmodel.collectives.schedule import Expanded, Operation
from sysmodel.collectives.traffic import ChunkBytes, equal_chunks, matrix_chunks
from sysmodel.config.workload import LARGEST_TP
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.geometry.placement import MOST_OUTPUT_ATOMS
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError, short

__all__ = ["Buffer", "Matrix", "buffer_of", "message_limits"]

Matrix: TypeAlias = Sequence[Sequence[int]]
"""Bytes that each rank of an all-to-all has for each rank: ``sizes[sender][receiver]``."""

_ROW = 256  # elements of two bytes, contiguous: as much as a channel holds in one piece
_ROW_BYTES = 2 * _ROW
# A full tile has four blocks in each of 256 channels of 256 bytes. Where the number of channels is
# no power of two, each has at least one.
_MOST_TILE_BYTES = 1 << 18


class Buffer(NamedTuple):
    """Message, the kernel whose output holds it, and the bytes of each chunk.

    Parameters
    ----------
    operation : str
        Operation of the schedule, or ``all-to-all-v``.
    message_bytes : int
        Bytes as nccl-tests count; the largest input of a rank, if they differ.
    """

    operation: str
    message_bytes: int
    kernel: Kernel
    chunk_bytes: ChunkBytes


def message_limits(gpus: int, operation: Operation = "all-reduce") -> tuple[int, int]:
    """Smallest and largest message in bytes that the model cuts into a chunk for each GPU."""
    chunks = _chunks(operation, gpus)
    return chunks * _ROW_BYTES, MOST_OUTPUT_ATOMS * ATOM_BYTES * chunks // gpus


def buffer_of(schedule: Expanded, message: int | Matrix) -> Buffer:
    """Cut a message for a schedule: equal chunks of bytes, or those of an all-to-all-v.

    Raises
    ------
    InputError
        The model does not cut such a message.
    """
    gpus = schedule.ranks
    if not 2 <= gpus <= LARGEST_TP:
        raise InputError("ranks", f"{short(gpus)} is not allowed; allowed: 2 to {LARGEST_TP}")
    if not isinstance(message, int):
        return _of_sizes(schedule, message)
    least, most = message_limits(gpus, schedule.operation)
    if not least <= message <= most:
        raise InputError(
            "bytes", f"{short(message)} is not allowed; allowed for {gpus} GPUs: {least} to {most}"
        )
    kernel = _kernel(gpus, -(-message // _chunks(schedule.operation, gpus)))
    chunk_bytes = equal_chunks(schedule, kernel.output_bytes // gpus, ATOM_BYTES)
    return Buffer(schedule.operation, message, kernel, chunk_bytes)


def _of_sizes(schedule: Expanded, sizes: Matrix) -> Buffer:
    """Buffer of an all-to-all-v, in which each chunk has space for the largest one."""
    gpus, grain = schedule.ranks, ATOM_BYTES * schedule.parts
    matrix_chunks(schedule, sizes)  # checks the matrix
    in_atoms = [[-(-size // grain) * grain for size in row] for row in sizes]
    largest = max(map(max, in_atoms))
    most = MOST_OUTPUT_ATOMS * ATOM_BYTES // gpus
    if not 0 < largest <= most:
        problem = f"the largest is {largest} bytes; allowed for {gpus} GPUs: 1 to {most}"
        raise InputError("sizes", problem)
    return Buffer(
        f"{schedule.operation}-v",
        max(map(sum, sizes)),
        _kernel(gpus, max(largest, _ROW_BYTES)),
        matrix_chunks(schedule, in_atoms),
    )


def _chunks(operation: Operation, gpus: int) -> int:
    """Chunks of a message: one for each GPU, but for a message to one peer."""
    return 1 if operation == "send" else gpus


def _kernel(gpus: int, chunk_bytes: int) -> Kernel:
    """Kernel whose output's chunks are contiguous parts, each cut into equal tiles."""
    tiles = -(-chunk_bytes // _MOST_TILE_BYTES)
    rows = -(-chunk_bytes // (tiles * _ROW_BYTES))
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
