"""Split-K GEMMs: several workgroups share the K loop of a tile, and add to it in memory."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from sysmodel.gpu.kernel import Kernel

from .chunks import Chunks
from .tiling import Tiling

__all__ = ["SplitChunks", "SplitTiling", "split_kernel"]


@dataclass(frozen=True, kw_only=True)
class SplitTiling(Tiling):
    """Tiling with ``splits`` workgroups for each macro-tile; ``k`` is the depth of one."""

    splits: int

    @property
    def workgroups(self) -> int:
        """Number of workgroups."""
        return super().workgroups * self.splits


@dataclass(frozen=True, kw_only=True)
class SplitChunks(Chunks):
    """Chunks of a split tiling. A chunk is made ``splits`` times, one split behind the other."""

    tiling: SplitTiling

    @cached_property
    def whole(self) -> Chunks:
        """Chunks with one workgroup for each macro-tile."""
        given = {field.name: getattr(self, field.name) for field in fields(Chunks)}
        tiling = {field.name: getattr(self.tiling, field.name) for field in fields(Tiling)}
        return Chunks(**given | {"tiling": Tiling(**tiling)})

    @cached_property
    def start(self) -> np.ndarray:
        """First workgroup of each chunk, followed by the end: owners + 1 entries."""
        return self.whole.start * self.tiling.splits

    @cached_property
    def tiles(self) -> tuple[np.ndarray, np.ndarray]:
        """Tile row and tile column of each workgroup id."""
        rows, columns = self.whole.tiles
        order = np.concatenate(
            [
                np.tile(np.arange(first, end), self.tiling.splits)
                for first, end in pairwise(self.whole.start)
            ]
        )
        return rows[order], columns[order]

    @property
    def split_of_workgroup(self) -> np.ndarray:
        """Split of each workgroup id."""
        splits = np.arange(self.tiling.splits)
        return np.concatenate([np.repeat(splits, size) for size in self.whole.sizes])


def split_kernel(kernel: Kernel, splits: int) -> Kernel:
    """Return the kernel with a number of workgroups for each macro-tile, which share its depth."""
    given = {field.name: getattr(kernel.tiling, field.name) for field in fields(Tiling)}
    tiling = SplitTiling(**given | {"k": -(-kernel.tiling.k // splits)}, splits=splits)
    of_chunks = {field.name: getattr(kernel.chunks, field.name) for field in fields(Chunks)}
    chunks = SplitChunks(**of_chunks | {"tiling": tiling})
    return replace(kernel, layout=replace(kernel.layout, tiling=tiling), chunks=chunks)
