"""GEMM kernel of each GPU: its tiling, output layout, chunks and placement together."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .geometry.chunks import Chunks
from .geometry.output_atoms import OutputAtoms, find_output_atoms
from .geometry.output_layout import OutputLayout, Walk
from .geometry.placement import Placement
from .geometry.tiling import Tiling

__all__ = ["Kernel"]


@dataclass(frozen=True)
class Kernel:
    """GEMM whose output has a layout, is cut into chunks for a number of GPUs, and lies in memory.

    Raises
    ------
    ValueError
        Layout and chunks are those of different tilings.
    """

    layout: OutputLayout
    chunks: Chunks
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        if self.layout.tiling != self.chunks.tiling:
            raise ValueError("kernel: layout and chunks must have the same tiling")

    @property
    def tiling(self) -> Tiling:
        return self.layout.tiling

    @property
    def gpus(self) -> int:
        return self.chunks.owners

    @property
    def workgroups(self) -> int:
        return self.tiling.workgroups

    @property
    def waves(self) -> int:
        return self.tiling.waves

    @property
    def output_bytes(self) -> int:
        return self.tiling.output_bytes

    @property
    def output_atom(self) -> int:
        return self.placement.output_atom

    @property
    def output_end(self) -> int:
        """Atom after the last one of the output."""
        return self.output_atom + self.layout.atoms

    @property
    def is_mapped(self) -> bool:
        """True if the output lies within its region of the address space."""
        return self.placement.maps(self.layout.atoms)

    def resized(self, **size: int) -> "Kernel":
        """Same kernel for another ``m``, ``n`` or ``k``."""
        tiling = replace(self.tiling, **size)
        return replace(
            self,
            layout=replace(self.layout, tiling=tiling),
            chunks=replace(self.chunks, tiling=tiling),
        )

    def slice(self, outer_total: int) -> "Kernel":
        """Same kernel on a part of the output, cut across its rows of contiguous elements."""
        return self.resized(**{"n" if self.layout.column_major else "m": outer_total})

    @cached_property
    def walk(self) -> Walk:
        """Walk over the tile of each workgroup."""
        walk = self.layout.walk(*self.chunks.tiles)
        return walk._replace(first=self.output_atom + walk.first)

    @property
    def uniform(self) -> bool:
        """True if all chunks consist of the same tiles in the same order."""
        if self.workgroups % self.gpus:
            return False
        shapes = np.stack([self.walk.outer, self.walk.inner], axis=1).reshape(self.gpus, -1)
        return bool((shapes == shapes[0]).all())

    @property
    def chunk_atoms(self) -> np.ndarray:
        """Output atoms of each chunk, in all channels."""
        up_to = np.append(0, np.cumsum(self.walk.outer * self.walk.inner))
        sizes: np.ndarray = np.diff(up_to[self.chunks.start])
        return sizes

    def chunk_rectangles(self, chunk: int) -> list[tuple[int, int, int]]:
        """Walks that together cover a chunk: first atom, outer extent, inner extent of each."""
        walks = (self.layout.rectangle(*one) for one in self.chunks.rectangles(chunk))
        return [(self.output_atom + first, outer, inner) for first, outer, inner in walks]

    def output_atoms(self, channels: int, offset_bits: int, system_channels: int) -> OutputAtoms:
        """Find the output's atoms in the first ``channels`` channels of the interleave."""
        return find_output_atoms(
            self.layout,
            self.walk,
            channels=channels,
            offset_bits=offset_bits,
            system_channels=system_channels,
        )
