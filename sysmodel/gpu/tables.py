"""Lookup tables of a kernel for the cycle loop: tiles, output atoms and operand lines."""

from collections.abc import Sequence

import numpy as np

from sysmodel.config.workload import ELEMENT_BYTES
from sysmodel.lib.compiled import compiled
from sysmodel.lib.interleave import channel_of_atom, local_of_atom

from .atoms import ATOM_BYTES, LINE_ATOM_BITS, LINE_ATOMS
from .geometry.output_atoms import OutputAtoms
from .geometry.placement import Placement
from .geometry.tiling import Tiling
from .kernel import Kernel

__all__ = ["joined_tables", "kernel_tables"]


def kernel_tables(
    kernel: Kernel,
    output_atoms: OutputAtoms,
    channels: int,
    offset_bits: int,
    system_channels: int,
) -> dict[str, np.ndarray]:
    """Compute the fields of the cycle loop's state that follow from kernel and channels.

    A depth-U step reads the lines ``line_request_start[row, step]`` to ``line_request_start[row,
    step + 1] - 1`` of a tile row of A; the tile columns of B follow all tile rows. ``tile_row`` and
    ``tile_column`` give the rows of a workgroup.
    """
    tile_row, tile_column = kernel.chunks.tiles
    start, line, mask, channel = _line_requests(
        kernel.tiling, kernel.placement, channels, offset_bits, system_channels
    )
    return {
        "tile_row": tile_row.astype(np.int64),
        "tile_column": (kernel.tiling.grid_m + tile_column).astype(np.int64),
        "outer_edge": kernel.walk.outer_edge.astype(np.int64),
        "inner_edge": kernel.walk.inner_edge.astype(np.int64),
        "output_start": output_atoms.start,
        "output_atom": output_atoms.atom,
        "output_wave": output_atoms.wave,
        "output_channel": output_atoms.channel,
        "per_wave": output_atoms.per_wave,
        "wave_first": output_atoms.wave_first,
        "wave_start": output_atoms.wave_start,
        "line_request_start": start,
        "line_request_line": line,
        "line_request_mask": mask,
        "line_request_channel": channel,
    }


def joined_tables(tables: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Join the tables of several kernels, one after the other."""
    if len(tables) == 1:
        return tables[0]
    moved = []
    tiles = atoms = lines = 0
    for number, one in enumerate(tables):
        last = number == len(tables) - 1
        # The end of a kernel's atoms is the start of the next kernel's.
        starts = one["output_start"] if last else one["output_start"][:-1]
        moved.append(
            one
            | {
                "tile_row": one["tile_row"] + tiles,
                "tile_column": one["tile_column"] + tiles,
                "output_start": starts + atoms,
                "line_request_start": one["line_request_start"] + lines,
            }
        )
        tiles += len(one["line_request_start"])
        atoms += len(one["output_atom"])
        lines += len(one["line_request_line"])
    return {name: _stacked([one[name] for one in moved]) for name in tables[0]}


def _stacked(arrays: list[np.ndarray]) -> np.ndarray:
    """Concatenate arrays of rows; shorter rows are padded with zeros."""
    if arrays[0].ndim == 1:
        return np.concatenate(arrays)
    width = max(one.shape[1] for one in arrays)
    return np.concatenate([np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in arrays])


def _line_requests(
    tiling: Tiling, placement: Placement, channels: int, offset_bits: int, system_channels: int
):
    stride = tiling.operand_stride
    depth = max(1, -(-tiling.depth_u * ELEMENT_BYTES // ATOM_BYTES))
    geometry = np.array(
        [
            [placement.a_atom, tiling.grid_m, tiling.tile_m, tiling.m],
            [placement.b_atom, tiling.grid_n, tiling.tile_n, tiling.n],
        ],
        np.int64,
    )
    start = np.zeros((tiling.grid_m + tiling.grid_n, tiling.steps + 1), np.int64)
    arguments = geometry, stride, depth, channels, offset_bits, system_channels, start
    nothing = np.zeros(0, np.int64)
    count = _fill(*arguments, nothing, nothing, nothing)
    line, mask, channel = (np.zeros(count, np.int64) for _ in range(3))
    _fill(*arguments, line, mask, channel)
    return start, line, mask, channel


@compiled
def _fill(
    geometry, stride, depth, channels, offset_bits, system_channels,
    start, line, mask, channel
):  # fmt: skip
    """Count the line requests and, if the arrays have a length, fill them in."""
    used = 0
    write = len(line) > 0
    for tile in range(start.shape[0]):
        of_a = tile < geometry[0, 1]
        index = tile if of_a else tile - geometry[0, 1]
        operand = geometry[0 if of_a else 1]
        base, size, end = operand[0], operand[2], operand[3]
        for step in range(start.shape[1] - 1):
            start[tile, step] = used
            for row in range(index * size, min((index + 1) * size, end)):
                atom = base + row * stride + step * depth
                last = base + row * stride + min((step + 1) * depth, stride)
                while atom < last:
                    stop = min(last, (atom | (LINE_ATOMS - 1)) + 1)
                    c = channel_of_atom(atom, offset_bits, system_channels)
                    if c < channels:
                        if write:
                            local = local_of_atom(atom, offset_bits, system_channels)
                            line[used] = local >> LINE_ATOM_BITS
                            mask[used] = ((1 << (stop - atom)) - 1) << (local & (LINE_ATOMS - 1))
                            channel[used] = c
                        used += 1
                    atom = stop
        start[tile, start.shape[1] - 1] = used
    return used
