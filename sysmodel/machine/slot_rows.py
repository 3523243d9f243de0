"""Workgroups whose tiles the slots of a launch name, as rows of the kernels' tables."""

from collections.abc import Sequence

import numpy as np

from sysmodel.collectives.launch_map import LaunchMap, TrackedSchedule
from sysmodel.gpu.kernel import Kernel

__all__ = ["sender_rows", "slot_rows"]


def slot_rows(kernels: Sequence[Kernel], gpus: int, tracked: TrackedSchedule) -> np.ndarray:
    """List the row of each slot's tile: (gpus, kernels, slots).

    Tiles of an all-to-all that arrive are others, at places of their own, which have the same atoms
    in every channel.
    """
    first_rows = np.cumsum([0, *(one.workgroups for one in kernels)])
    rows = [
        [first + _rows(one, g, tracked) for first, one in zip(first_rows, kernels, strict=False)]
        for g in range(gpus)
    ]
    most = max(len(one) for of_gpu in rows for one in of_gpu)
    return np.array([[np.resize(one, most) for one in of_gpu] for of_gpu in rows])


def _rows(kernel: Kernel, gpu: int, tracked: TrackedSchedule) -> np.ndarray:
    """List the workgroup of each slot's tile on a GPU."""
    chunks = kernel.chunks
    if kernel.gpus == 1:
        return np.arange(kernel.workgroups)
    named = tracked.map(chunks.sizes, gpu).chunks
    return np.concatenate(
        [
            chunks.start[owner] + (np.arange(slots) - slots) % chunks.sizes[owner]
            for owner, slots in named
        ]
    )


def sender_rows(launch: LaunchMap, rows: np.ndarray) -> np.ndarray:
    """List the row of the tile that a GPU sends for each slot of the GPUs to which it sends, given
    the ``rows`` of its own slots."""
    sent, first = np.full(len(rows), -1), 0
    for one in launch.ranges:
        slots = np.arange(first, first + one.workgroups)
        if one.to:
            sent[slots + one.slot_offset] = rows[slots]
        first += one.workgroups
    return sent
