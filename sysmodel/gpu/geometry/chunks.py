"""Chunks of a GEMM's output, one for each owner, and the order in which their tiles are made."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .tiling import Tiling

__all__ = ["Chunks"]


@dataclass(frozen=True, kw_only=True)
class Chunks:
    """Assignment of macro-tiles to chunks and to workgroup ids.

    Workgroup ids follow the dispatch order: chunk by chunk; in each chunk, band by band of ``band``
    tile rows; in each band, down the rows and then to the next tile column.

    Parameters
    ----------
    owners : int
        Number of chunks. Chunk *i* belongs to owner *i*.
    workgroup_mapping : int
        Most tile rows of a band.
    grid : (int, int) or None
        Numbers of parts into which the chunks cut tile rows and tile columns; chosen if None.

    Raises
    ------
    ValueError
        There are fewer tiles than owners.
    """

    tiling: Tiling
    owners: int
    workgroup_mapping: int
    grid: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        workgroups = self.tiling.workgroups
        if workgroups < self.owners:
            number = "1 workgroup" if workgroups == 1 else f"{workgroups} workgroups"
            fewer = f"tp up to {workgroups}, or " if workgroups > 1 else ""
            raise ValueError(
                f"{number} cannot be cut into {self.owners} chunks; allowed: {fewer}a larger matrix"
            )

    @cached_property
    def cut(self) -> tuple[int, int] | None:
        """Numbers of parts into which the chunks cut tile rows and tile columns.

        Cuts into equal chunks are preferred, then the cut whose chunks need the smallest operands.
        None if no cut gives each owner equally many workgroups; the chunks are then parts of the
        dispatch order that differ by at most one workgroup.
        """
        if self.grid is not None:
            return self.grid
        tiling, owners = self.tiling, self.owners
        cuts = [
            (parts, owners // parts)
            for parts in range(1, owners + 1)
            if owners % parts == 0
            and tiling.grid_m % parts == 0
            and tiling.grid_n % (owners // parts) == 0
        ]

        def cost(cut: tuple[int, int]) -> tuple[bool, int]:
            across, along = cut
            ragged_m = across > 1 and tiling.m % tiling.tile_m
            ragged_n = along > 1 and tiling.n % tiling.tile_n
            rows, columns = tiling.grid_m // across, tiling.grid_n // along
            return bool(ragged_m or ragged_n), rows * tiling.tile_m + columns * tiling.tile_n

        return min(cuts, key=cost, default=None)

    @property
    def band(self) -> int:
        """Tile rows of a band: the workgroup mapping, or the chunk's tile rows if these are fewer.
        The last band of a chunk has the rows that remain."""
        return min(self.workgroup_mapping, self.tiling.grid_m // (self.cut or (1, 1))[0])

    @cached_property
    def tiles(self) -> tuple[np.ndarray, np.ndarray]:
        """Tile row and tile column of each workgroup id."""
        across, along = self.cut or (1, 1)
        height, width = self.tiling.grid_m // across, self.tiling.grid_n // along
        corners = [(i * height, j * width) for i in range(across) for j in range(along)]
        if self.tiling.m < self.tiling.n:
            # The smaller operand is read repeatedly and should stay in the cache.
            corners.sort(key=lambda corner: corner[1])
        rows, columns = [], []
        for top, left in corners:
            for first in range(top, top + height, self.band):
                band = np.arange(first, min(first + self.band, top + height))
                rows.append(np.tile(band, width))
                columns.append(np.repeat(np.arange(left, left + width), len(band)))
        return np.concatenate(rows), np.concatenate(columns)

    @cached_property
    def start(self) -> np.ndarray:
        """First workgroup of each chunk, followed by the end: owners + 1 entries."""
        return np.arange(self.owners + 1) * self.tiling.workgroups // self.owners

    @property
    def sizes(self) -> list[int]:
        """Workgroups of each chunk."""
        sizes: list[int] = np.diff(self.start).tolist()
        return sizes

    @property
    def of_workgroup(self) -> np.ndarray:
        """Chunk of each workgroup."""
        return np.repeat(np.arange(self.owners), self.sizes)

    def rectangles(self, chunk: int) -> list[tuple[int, int, int, int]]:
        """Rectangles of tiles that together cover a chunk: first tile row and the end of the rows,
        first tile column and the end of the columns.

        A chunk of an equal cut is one rectangle. Another one begins and ends within a column of a
        band, and consists of up to five.
        """
        row, column = self.tiles
        members = slice(self.start[chunk], self.start[chunk + 1])
        ends = np.stack([row, row + 1, column, column + 1], axis=1)[members]
        found: list[tuple[int, int, int, int]] = []
        for one in ends.tolist():
            found.append(tuple(one))
            while len(found) > 1 and _joins(*found[-2:]):
                _, bottom, _, right = found.pop()
                top, _, left, _ = found.pop()
                found.append((top, bottom, left, right))
        return found


def _joins(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Test whether the second rectangle continues the first one, downwards or to the right."""
    down = first[2:] == second[2:] and first[1] == second[0]
    return down or (first[:2] == second[:2] and first[3] == second[2])
