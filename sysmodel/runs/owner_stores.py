"""Addresses of a fused GEMM's stores: every tile goes to a place in the memory of its owner."""

from collections.abc import Sequence

import numpy as np

from sysmodel.gpu.collective_step import Target, Task
from sysmodel.gpu.kernel import Kernel
from sysmodel.machine.state import State
from sysmodel.network.mirror import PLACE_CHUNK, PLACE_OFFSET
from sysmodel.network.windows import PLACE_ATOM_BITS

__all__ = ["mirrored_atoms", "owner_atoms", "owner_places"]


def owner_atoms(state: State, kernel: Kernel, sends: Sequence[Sequence[Task]]) -> np.ndarray:
    """Addresses of the stores of each GPU, by GPU and entry of the table of output atoms.

    Parameters
    ----------
    state : State
        State whose only kernel is the GEMM.
    sends : sequence
        Tasks of each GPU that would send the output from its memory. The GEMM stores a chunk to the
        same target itself; chunks without a task stay.
    """
    chunk = np.repeat(kernel.chunks.of_workgroup, np.diff(state.output_start))
    stored = np.tile(state.output_atom, (len(sends), 1))
    for c in range(len(state.chunk_start)):
        here = state.output_channel == c
        for g, tasks in enumerate(sends):
            for task in tasks:
                (target,) = task.targets
                entries = np.flatnonzero(here & (chunk == task.chunk))
                stored[g, entries] = _placed(state, c, state.output_atom[entries], target)
    return stored


def owner_places(sends: Sequence[Task]) -> np.ndarray:
    """Find the places in the memories of owners to which GPU 0 stores, as ``mirror_place``; see
    :mod:`sysmodel.network.mirror`.

    Parameters
    ----------
    sends : sequence
        Tasks of GPU 0 that would send the output from its memory, each to the memory of another
        GPU.
    """
    rows = []
    for task in sends:
        (target,) = task.targets
        place = target.offset & ((1 << PLACE_ATOM_BITS) - 1)  # without the owner's window
        rows.append((place, task.chunk, target.rotation))
    return np.array(sorted(rows), np.int64)


def mirrored_atoms(state: State, kernel: Kernel, places: np.ndarray) -> np.ndarray:
    """Addresses of the stores of GPU 0 if it stands for all, by entry of the table of output atoms.

    The mirror finds a chunk by its place, and turns its atoms into those of the own chunk.
    """
    chunk = np.repeat(kernel.chunks.of_workgroup, np.diff(state.output_start))
    offsets = np.zeros(kernel.gpus, np.int64)
    offsets[places[:, PLACE_CHUNK]] = places[:, PLACE_OFFSET]
    stored: np.ndarray = state.output_atom + offsets[chunk]
    return stored[np.newaxis]


def _placed(state: State, c: int, atoms: np.ndarray, target: Target) -> np.ndarray:
    """Addresses at a target of some of the output's atoms in a channel."""
    of_channel = state.chunk_atom[c, : state.chunk_start[c, -1]]
    ascending = np.argsort(of_channel)
    index = ascending[np.searchsorted(of_channel, atoms, sorter=ascending)]
    placed: np.ndarray = of_channel[(index + target.rotation) % len(of_channel)] + target.offset
    return placed
