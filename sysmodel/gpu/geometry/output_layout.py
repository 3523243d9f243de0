"""Layout of a GEMM's output in atoms, and the walks of the DMA engine over its macro-tiles."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sysmodel.gpu.atoms import ATOM_BYTES, ELEMENTS

from .tiling import Tiling

__all__ = ["OutputLayout", "Walk"]


class Walk(NamedTuple):
    """Two-dimensional walk over each of some macro-tiles: an entry for each tile.

    A walk begins at the atom ``first``, and has ``outer`` rows of ``inner`` atoms. The edges are
    true for the last tiles across the rows and along the rows, whose extents may be smaller.
    """

    first: np.ndarray
    outer: np.ndarray
    inner: np.ndarray
    outer_edge: np.ndarray
    inner_edge: np.ndarray


@dataclass(frozen=True)
class OutputLayout:
    """Column-major or row-major output, whose rows of contiguous elements are whole atoms.

    The inner extent of a walk lies along M or N, the outer extent across it. Atoms are counted from
    the output's first.
    """

    tiling: Tiling
    column_major: bool

    def __post_init__(self) -> None:
        inner_elements = self.tiling.tile_m if self.column_major else self.tiling.tile_n
        if inner_elements % (ELEMENTS * self.inner_waves):
            raise ValueError(
                "kernel: a wavefront's inner extent of "
                f"{inner_elements // self.inner_waves} elements must be a multiple of {ELEMENTS} "
                f"(one {ATOM_BYTES}-byte atom)"
            )
        extent = self.wave_inner_extent
        if self.inner_waves > 1 and extent & (extent - 1):
            raise ValueError(
                "kernel: a wavefront's inner extent must be a power of two atoms where wavefronts "
                f"share a row, not {extent}"
            )

    @property
    def inner_extent(self) -> int:
        """Atoms of a row of the walk over a macro-tile."""
        return (self.tiling.tile_m if self.column_major else self.tiling.tile_n) // ELEMENTS

    @property
    def outer_extent(self) -> int:
        """Rows of the walk over a macro-tile."""
        return self.tiling.tile_n if self.column_major else self.tiling.tile_m

    @property
    def inner_waves(self) -> int:
        return self.tiling.waves_m if self.column_major else self.tiling.waves_n

    @property
    def outer_waves(self) -> int:
        return self.tiling.waves_n if self.column_major else self.tiling.waves_m

    @property
    def wave_inner_extent(self) -> int:
        return self.inner_extent // self.inner_waves

    @property
    def wave_outer_extent(self) -> int:
        return self.outer_extent // self.outer_waves

    @property
    def stride(self) -> int:
        """Atoms from one row to the next."""
        return -(-(self.tiling.m if self.column_major else self.tiling.n) // ELEMENTS)

    @property
    def outer_total(self) -> int:
        """Rows of the output."""
        return self.tiling.n if self.column_major else self.tiling.m

    @property
    def atoms(self) -> int:
        """Atoms of the output, with the padding of its rows."""
        return self.outer_total * self.stride

    @property
    def inner_extent_edge(self) -> int:
        """Atoms of a row of the walk in the last tile along it."""
        return self.stride - (-(-self.stride // self.inner_extent) - 1) * self.inner_extent

    @property
    def outer_extent_edge(self) -> int:
        """Rows of the walk in the last tile across them."""
        before = -(-self.outer_total // self.outer_extent) - 1
        return self.outer_total - before * self.outer_extent

    @property
    def wave_corners(self) -> np.ndarray:
        """Atoms from the first one of a full macro-tile to that of each wavefront."""
        row, part = np.divmod(np.arange(self.tiling.waves), self.inner_waves)
        corners: np.ndarray = (
            row * self.wave_outer_extent * self.stride + part * self.wave_inner_extent
        )
        return corners

    def live_waves(self, outer_edge: bool, inner_edge: bool) -> int:
        """Number of wavefronts of a workgroup that write to the output."""
        outer, inner = self._live(outer_edge, inner_edge)
        return outer * inner

    def ending_waves(self, outer_edge: bool, inner_edge: bool) -> int:
        """Number of wavefronts of a workgroup that end their tile: all up to the last one that
        writes, since the DMA engine marks the tiles of the first so many wavefronts."""
        outer, inner = self._live(outer_edge, inner_edge)
        return (outer - 1) * self.inner_waves + inner

    def _live(self, outer_edge: bool, inner_edge: bool) -> tuple[int, int]:
        """Numbers of wavefronts that write, across the rows of the walk and along them."""
        inner = self.inner_extent_edge if inner_edge else self.inner_extent
        outer = self.outer_extent_edge if outer_edge else self.outer_extent
        return -(-outer // self.wave_outer_extent), -(-inner // self.wave_inner_extent)

    def walk(self, tile_row: np.ndarray, tile_column: np.ndarray) -> Walk:
        """Walk over each of the tiles with these tile rows and tile columns."""
        along, across = (tile_row, tile_column) if self.column_major else (tile_column, tile_row)
        inner_edge = along == -(-self.stride // self.inner_extent) - 1
        outer_edge = across == -(-self.outer_total // self.outer_extent) - 1
        first = along * self.inner_extent + across * self.outer_extent * self.stride
        return Walk(
            first.astype(np.int64),
            np.where(outer_edge, self.outer_extent_edge, self.outer_extent).astype(np.int64),
            np.where(inner_edge, self.inner_extent_edge, self.inner_extent).astype(np.int64),
            outer_edge,
            inner_edge,
        )

    def rectangle(self, top: int, bottom: int, left: int, right: int) -> tuple[int, int, int]:
        """First atom, outer extent and inner extent of the walk over a rectangle of tiles: the tile
        rows from ``top`` to before ``bottom``, and the tile columns from ``left`` to before
        ``right``."""
        along, across = (top, bottom), (left, right)
        if not self.column_major:
            along, across = across, along
        first, end = (min(i * self.inner_extent, self.stride) for i in along)
        outer, outer_end = (min(i * self.outer_extent, self.outer_total) for i in across)
        return outer * self.stride + first, outer_end - outer, end - first
