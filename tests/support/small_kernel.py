"""Kernels and loop states that are small enough to follow by hand."""

from collections.abc import Sequence

import numpy as np

from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, GPU_INPUTS, GPU_OUTPUTS
from sysmodel.gpu.collective import new_tables
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.geometry.output_atoms import OutputAtoms
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.l2 import L2Parameters, new_l2
from sysmodel.gpu.tables import joined_tables, kernel_tables
from sysmodel.machine.slot_rows import sender_rows, slot_rows
from sysmodel.machine.state import State, new_state
from sysmodel.memory.dram import new_dram
from tests.support.dram_harness import BARE

__all__ = ["OFFSET_BITS", "bare_state", "channel_by_hand", "small_kernel"]

OFFSET_BITS = 3


def small_kernel(
    *, gpus: int = 2, workgroup_mapping: int = 4, column_major: bool = True, **tiling: int
) -> Kernel:
    """Return a kernel with tiles of 64 x 8 elements.

    Each tile has two wavefronts of 32 x 8 elements, 16 atoms each.
    """
    values = dict(
        m=256, n=32, k=64, tile_m=64, tile_n=8, depth_u=16, waves_m=2, waves_n=1, prefetch_depth=2
    )  # fmt: skip
    tiles = Tiling(**values | tiling)
    return Kernel(
        OutputLayout(tiles, column_major),
        Chunks(tiling=tiles, owners=gpus, workgroup_mapping=workgroup_mapping),
    )


def channel_by_hand(atom: int, channel_bits: int) -> int:
    """Return the remainder of the bits above ``OFFSET_BITS`` by x + 1, x^2 + 1, ..."""
    block = int(atom) >> OFFSET_BITS
    divisors = 0b1, 0b11, 0b101, 0b1001, 0b10001, 0b100001, 0b1000011, 0b10000011, 0b100011101
    divisor = divisors[channel_bits]
    while block >> channel_bits:
        block ^= divisor << (block.bit_length() - 1 - channel_bits)
    return block


def bare_state(
    kernel: Kernel,
    *,
    behind: Sequence[Kernel] = (),
    gpus: int = 1,
    channels: int = 1,
    channel_bits: int = 0,
) -> tuple[State, OutputAtoms]:
    """Return a state with the kernel's tables in which nothing is set up, and its output atoms.

    It has ``channels`` channels out of ``1 << channel_bits``, and the tables of the kernels
    ``behind`` follow. The slots of all GPUs are those of the first one in a ring.
    """
    queue = [kernel, *behind]
    system_channels = 1 << channel_bits
    atoms_of = [one.output_atoms(channels, OFFSET_BITS, system_channels) for one in queue]
    output_atoms = atoms_of[0]
    chunk_start = np.zeros((channels, kernel.gpus + 1), np.int64)
    chunk_atom = np.zeros((channels, len(output_atoms.atom)), np.int64)
    for c in range(channels):
        atoms: list[int] = []
        for chunk in range(kernel.gpus):
            first, end = output_atoms.start[kernel.chunks.start[chunk : chunk + 2]]
            here = output_atoms.channel[first:end] == c
            atoms += sorted(output_atoms.atom[first:end][here])
            chunk_start[c, chunk + 1] = len(atoms)
        chunk_atom[c, : len(atoms)] = atoms
    ring = tracked_schedule("ring", max(2, kernel.gpus))
    rows, sent = np.tile(slot_rows(queue, 1, ring), (gpus, 1, 1)), np.zeros((0, 0), np.int64)
    if kernel.gpus > 1:
        sent = np.tile(sender_rows(ring.map(kernel.chunks.sizes, 0), rows[0, 0]), (len(queue), 1))
    state = new_state(
        gpus,
        channels,
        sum(one.workgroups for one in queue),
        kernels=len(queue),
        **joined_tables(
            [
                kernel_tables(one, atoms, channels, OFFSET_BITS, system_channels)
                for one, atoms in zip(queue, atoms_of, strict=True)
            ]
        ),
        chunk_start=chunk_start,
        chunk_atom=chunk_atom,
        chunk_size=kernel.chunk_atoms,
        slot_row=rows,
        sender_row=sent,
        **new_tables(gpus, channels, tasks=4, operands=4, targets=4),
        stored=np.zeros((gpus, 0, 4), np.uint64),
        epoch=np.zeros((gpus, 0), np.uint64),
        partial=np.zeros((gpus, 0, 4), np.uint64),
        dram=new_dram(BARE, gpus * channels),
        l2=new_l2(L2Parameters(slices=1, sets=1, ways=1), gpus * channels),
        inputs=np.zeros((gpus, channels * CHANNEL_INPUTS + GPU_INPUTS), np.uint64),
        outputs=np.zeros((gpus, channels * CHANNEL_OUTPUTS + GPU_OUTPUTS), np.uint64),
    )
    state.fixed["offset_bits"] = OFFSET_BITS
    state.fixed["system_channels"] = system_channels
    state.kernel["workgroups"] = [one.workgroups for one in queue]
    return state, output_atoms
