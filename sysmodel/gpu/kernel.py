"""Geometry of a tiled GEMM: workgroups, their order, the ring's chunks and the atoms of tiles."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from sysmodel.config.workload import ELEMENT_BYTES
from sysmodel.lib.interleave import channel_of_atom
from sysmodel.lib.ring import scattered

__all__ = [
    "A_ATOM",
    "B_ATOM",
    "END_OF_REGIONS_ATOM",
    "MOST_OUTPUT_ATOMS",
    "OUTPUT_ATOM",
    "Kernel",
    "OutputAtoms",
]

ATOM_BYTES = 32
ELEMENTS = ATOM_BYTES // ELEMENT_BYTES
# Atoms of a cache line.
LINE_ATOM_BITS = 2
LINE_ATOMS = 1 << LINE_ATOM_BITS

# Operands and output lie in regions that differ in high address bits; the output's staging copy
# lies beyond them.
OUTPUT_ATOM = (1 << 32) // ATOM_BYTES
A_ATOM = (2 << 32) // ATOM_BYTES
B_ATOM = (3 << 32) // ATOM_BYTES
END_OF_REGIONS_ATOM = (4 << 32) // ATOM_BYTES
MOST_OUTPUT_ATOMS = (1 << 30) // ATOM_BYTES


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class OutputAtoms:
    """Output atoms in the simulated channels, workgroup by workgroup.

    Workgroup *w* has the entries ``start[w]`` to ``start[w + 1]`` of ``atom`` (ascending), ``wave``
    and ``channel``. ``per_wave[w, v]`` counts the entries of its wavefront *v*; the smallest atom
    of the wavefront is ``wave_first[w, v]`` in the simulated channels and ``wave_start[w, v]`` in
    all channels (-1 without an atom).
    """

    start: np.ndarray
    atom: np.ndarray
    wave: np.ndarray
    channel: np.ndarray
    per_wave: np.ndarray
    wave_first: np.ndarray
    wave_start: np.ndarray


@dataclass(frozen=True)
class Kernel:
    """GEMM of m × n × k elements of two bytes, cut into macro-tiles for a ring of GPUs.

    A and B are stored with K contiguous (the TN layout of the BLAS). The output is column-major or
    row-major; the inner extent of the DMA walk lies along M or N, the outer extent across it.

    Workgroup ids follow the dispatch order: chunk by chunk; in each chunk, band by band of ``band``
    tile rows; in each band, down the rows and then to the next tile column.

    ``output_atom``, ``a_atom`` and ``b_atom`` are the first atoms of the buffers. ``chunk_grid``,
    if given, is the number of parts into which the chunks cut tile rows and tile columns.
    """

    m: int
    n: int
    k: int
    gpus: int
    tile_m: int
    tile_n: int
    depth_u: int
    waves_m: int
    waves_n: int
    prefetch_depth: int
    workgroup_mapping: int
    column_major: bool
    output_atom: int = OUTPUT_ATOM
    a_atom: int = A_ATOM
    b_atom: int = B_ATOM
    chunk_grid: tuple[int, int] | None = None

    def __post_init__(self):
        inner_elements = self.tile_m if self.column_major else self.tile_n
        inner_waves = self.waves_m if self.column_major else self.waves_n
        if inner_elements % (ELEMENTS * inner_waves):
            raise ValueError(
                f"kernel: a wavefront's inner extent of {inner_elements // inner_waves} elements "
                f"must be a multiple of {ELEMENTS} (one {ATOM_BYTES}-byte atom)"
            )
        wave_inner_extent = inner_elements // inner_waves // ELEMENTS
        if inner_waves > 1 and wave_inner_extent & (wave_inner_extent - 1):
            raise ValueError(
                "kernel: a wavefront's inner extent must be a power of two atoms where wavefronts "
                f"share a row, not {wave_inner_extent}"
            )
        for name in ("waves_m", "waves_n"):
            if getattr(self, name) not in (1, 2, 4):
                raise ValueError(f"kernel.{name} must be 1, 2 or 4, not {getattr(self, name)}")
        if self.workgroups < self.gpus:
            fewer = f"tp up to {self.workgroups}, or " if self.workgroups > 1 else ""
            raise ValueError(
                f"{self.workgroups} workgroups cannot be cut into {self.gpus} chunks; allowed: "
                f"{fewer}a larger matrix"
            )

    @property
    def grid_m(self) -> int:
        return _ceil(self.m, self.tile_m)

    @property
    def grid_n(self) -> int:
        return _ceil(self.n, self.tile_n)

    @property
    def workgroups(self) -> int:
        return self.grid_m * self.grid_n

    @property
    def waves(self) -> int:
        return self.waves_m * self.waves_n

    @property
    def steps(self) -> int:
        """Depth-U steps of the K loop."""
        return _ceil(self.k, self.depth_u)

    @property
    def step_flops(self) -> int:
        """Floating-point operations of a workgroup in a full depth-U step."""
        return 2 * self.tile_m * self.tile_n * self.depth_u

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def output_bytes(self) -> int:
        return self.m * self.n * ELEMENT_BYTES

    @cached_property
    def cut(self) -> tuple[int, int] | None:
        """Numbers of parts into which the ring's chunks cut tile rows and tile columns.

        Cuts into equal chunks are preferred, then the cut whose chunks need the smallest operands.
        None if no cut gives each GPU equally many workgroups; the chunks are then parts of the
        dispatch order that differ by at most one workgroup.
        """
        if self.chunk_grid is not None:
            return self.chunk_grid
        cuts = [
            (parts, self.gpus // parts)
            for parts in range(1, self.gpus + 1)
            if self.gpus % parts == 0
            and self.grid_m % parts == 0
            and self.grid_n % (self.gpus // parts) == 0
        ]

        def cost(cut: tuple[int, int]) -> tuple[bool, int]:
            across, along = cut
            unequal = (across > 1 and self.m % self.tile_m) or (along > 1 and self.n % self.tile_n)
            operands = self.grid_m // across * self.tile_m + self.grid_n // along * self.tile_n
            return bool(unequal), operands

        return min(cuts, key=cost, default=None)

    @property
    def band(self) -> int:
        """Tile rows of a band: the kernel's workgroup mapping, or the chunk's tile rows if these
        are fewer. The last band of a chunk has the rows that remain."""
        return min(self.workgroup_mapping, self.grid_m // (self.cut or (1, 1))[0])

    @cached_property
    def tiles(self) -> tuple[np.ndarray, np.ndarray]:
        """Tile row and tile column of each workgroup id."""
        across, along = self.cut or (1, 1)
        height, width = self.grid_m // across, self.grid_n // along
        corners = [(i * height, j * width) for i in range(across) for j in range(along)]
        if self.m < self.n:
            # The smaller operand is read repeatedly and should stay in the cache.
            corners.sort(key=lambda corner: corner[1])
        rows, columns = [], []
        for top, left in corners:
            for first in range(top, top + height, self.band):
                band = np.arange(first, min(first + self.band, top + height))
                rows.append(np.tile(band, width))
                columns.append(np.repeat(np.arange(left, left + width), len(band)))
        return np.concatenate(rows), np.concatenate(columns)

    @property
    def uniform(self) -> bool:
        """True if all chunks consist of the same tiles in the same order."""
        if self.workgroups % self.gpus:
            return False
        _, outer, inner, _, _ = self.walk
        shapes = np.stack([outer, inner], axis=1).reshape(self.gpus, -1)
        return bool((shapes == shapes[0]).all())

    @cached_property
    def chunk_start(self) -> np.ndarray:
        """First workgroup of each chunk, followed by the end: gpus + 1 entries."""
        return np.arange(self.gpus + 1) * self.workgroups // self.gpus

    @property
    def chunk_atoms(self) -> np.ndarray:
        """Output atoms of each chunk, in all channels."""
        _, outer, inner, _, _ = self.walk
        up_to = np.append(0, np.cumsum(outer * inner))
        sizes: np.ndarray = np.diff(up_to[self.chunk_start])
        return sizes

    def first_workgroup(self, gpu: int) -> int:
        """First workgroup of ``gpu``: the start of the chunk after its own."""
        return int(self.chunk_start[scattered(gpu, 0, self.gpus)])

    def chunk_workgroups(self, chunk: int) -> int:
        return int(self.chunk_start[chunk + 1] - self.chunk_start[chunk])

    # The two-dimensional walk of the DMA engine over the output.

    @property
    def inner_extent(self) -> int:
        return (self.tile_m if self.column_major else self.tile_n) // ELEMENTS

    @property
    def outer_extent(self) -> int:
        return self.tile_n if self.column_major else self.tile_m

    @property
    def inner_waves(self) -> int:
        return self.waves_m if self.column_major else self.waves_n

    @property
    def outer_waves(self) -> int:
        return self.waves_n if self.column_major else self.waves_m

    @property
    def wave_inner_extent(self) -> int:
        return self.inner_extent // self.inner_waves

    @property
    def wave_outer_extent(self) -> int:
        return self.outer_extent // self.outer_waves

    @property
    def stride(self) -> int:
        """Atoms from one row to the next."""
        return _ceil(self.m if self.column_major else self.n, ELEMENTS)

    @property
    def outer_total(self) -> int:
        return self.n if self.column_major else self.m

    @property
    def output_end(self) -> int:
        """Atom after the last one of the output."""
        return self.output_atom + self.outer_total * self.stride

    @property
    def is_mapped(self) -> bool:
        """True if the output lies within its region of the address space."""
        return self.output_end <= OUTPUT_ATOM + MOST_OUTPUT_ATOMS

    def slice(self, outer_total: int) -> "Kernel":
        """Same kernel on a part of the output, cut across its rows of contiguous elements."""
        if self.column_major:
            return replace(self, n=outer_total)
        return replace(self, m=outer_total)

    @property
    def inner_extent_edge(self) -> int:
        """Atoms of a row of the walk in the last tile along it."""
        return self.stride - (_ceil(self.stride, self.inner_extent) - 1) * self.inner_extent

    @property
    def outer_extent_edge(self) -> int:
        return (
            self.outer_total - (_ceil(self.outer_total, self.outer_extent) - 1) * self.outer_extent
        )

    @cached_property
    def walk(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """First atom, extents (outer, inner) and edges (outer, inner) of each workgroup's tile."""
        tile_row, tile_column = self.tiles
        along, across = (tile_row, tile_column) if self.column_major else (tile_column, tile_row)
        inner_edge = along == _ceil(self.stride, self.inner_extent) - 1
        outer_edge = across == _ceil(self.outer_total, self.outer_extent) - 1
        origin = self.output_atom + along * self.inner_extent
        first = origin + across * self.outer_extent * self.stride
        return (
            first.astype(np.int64),
            np.where(outer_edge, self.outer_extent_edge, self.outer_extent).astype(np.int64),
            np.where(inner_edge, self.inner_extent_edge, self.inner_extent).astype(np.int64),
            outer_edge,
            inner_edge,
        )

    def live_waves(self, outer_edge: bool, inner_edge: bool) -> int:
        """Number of wavefronts of a workgroup that write to the output."""
        inner = self.inner_extent_edge if inner_edge else self.inner_extent
        outer = self.outer_extent_edge if outer_edge else self.outer_extent
        return _ceil(inner, self.wave_inner_extent) * _ceil(outer, self.wave_outer_extent)

    def output_atoms(self, channels: int, offset_bits: int, system_channels: int) -> OutputAtoms:
        """Find the output's atoms in the first ``channels`` channels of the interleave."""
        first, outer, inner, _, _ = self.walk
        start, atom, wave, channel = _enumerate(
            first, outer, inner, self.stride,
            self.wave_inner_extent, self.wave_outer_extent, self.inner_waves,
            channels, offset_bits, system_channels,
        )  # fmt: skip
        per_wave = np.zeros((self.workgroups, self.waves), np.int64)
        wave_first = np.full((self.workgroups, self.waves), np.iinfo(np.int64).max)
        tile = np.repeat(np.arange(self.workgroups), np.diff(start)), wave
        np.add.at(per_wave, tile, 1)
        np.minimum.at(wave_first, tile, atom)
        v = np.arange(self.waves)
        corner = (
            v // self.inner_waves * self.wave_outer_extent * self.stride
            + v % self.inner_waves * self.wave_inner_extent
        )
        wave_start = first[:, None] + corner
        none = per_wave == 0
        wave_first[none] = wave_start[none] = -1
        return OutputAtoms(start, atom, wave, channel, per_wave, wave_first, wave_start)

    def chunk_rectangles(self, chunk: int) -> list[tuple[int, int, int]]:
        """Walks that together cover a chunk: first atom, outer extent, inner extent of each.

        A chunk of an equal cut is one rectangle. Another one begins and ends within a column of a
        band, and consists of up to five.
        """
        row, column = self.tiles
        members = slice(self.chunk_start[chunk], self.chunk_start[chunk + 1])
        ends = np.stack([row, row + 1, column, column + 1], axis=1)[members]
        rectangles: list[list[int]] = []
        for one in ends.tolist():
            rectangles.append(one)
            while len(rectangles) > 1 and _joins(*rectangles[-2:]):
                top, _, left, _ = rectangles[-2]
                _, bottom, _, right = rectangles.pop()
                rectangles[-1] = [top, bottom, left, right]
        return [self._walk_over(*one) for one in rectangles]

    def _walk_over(self, top: int, bottom: int, left: int, right: int) -> tuple[int, int, int]:
        """First atom, outer extent and inner extent of a rectangle of tiles."""
        along, across = (top, bottom), (left, right)
        if not self.column_major:
            along, across = across, along
        first, end = (min(i * self.inner_extent, self.stride) for i in along)
        outer, outer_end = (min(i * self.outer_extent, self.outer_total) for i in across)
        return self.output_atom + outer * self.stride + first, outer_end - outer, end - first


def _joins(first: list[int], second: list[int]) -> bool:
    """Test whether the second rectangle continues the first one, downwards or to the right."""
    down = first[2:] == second[2:] and first[1] == second[0]
    return down or (first[:2] == second[:2] and first[3] == second[2])


@njit(cache=True)
def _enumerate(
    first, outer, inner, stride, wave_inner_extent, wave_outer_extent, inner_waves,
    channels, offset_bits, system_channels
):  # fmt: skip
    start = np.zeros(len(first) + 1, np.int64)
    most = 0
    for w in range(len(first)):
        most += outer[w] * inner[w]
    atom = np.empty(most, np.int64)
    wave = np.empty(most, np.int64)
    channel = np.empty(most, np.int64)
    used = 0
    for w in range(len(first)):
        for r in range(outer[w]):
            for o in range(inner[w]):
                a = first[w] + r * stride + o
                c = channel_of_atom(a, offset_bits, system_channels)
                if c < channels:
                    atom[used] = a
                    wave[used] = (r // wave_outer_extent) * inner_waves + o // wave_inner_extent
                    channel[used] = c
                    used += 1
        start[w + 1] = used
    return start, atom[:used].copy(), wave[:used].copy(), channel[:used].copy()
