"""Geometry of a tiled GEMM: workgroups, their order, the ring's chunks and every tile's atoms."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from sysmodel.lib.interleave import channel_of_atom

__all__ = ["Kernel", "Sectors"]

ELEMENT_BYTES = 2
ATOM_BYTES = 32
ELEMENTS = ATOM_BYTES // ELEMENT_BYTES

# Operands, output and staging lie in regions that differ in high address bits. The staging offset
# sets two bits that the channel hash folds onto each other, so an atom and its staging copy share a
# channel.
OUTPUT_ATOM = (1 << 32) // ATOM_BYTES
A_ATOM = (2 << 32) // ATOM_BYTES
B_ATOM = (3 << 32) // ATOM_BYTES
MOST_OUTPUT_ATOMS = (1 << 30) // ATOM_BYTES


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class Sectors:
    """Atoms of the output in the simulated channels, workgroup by workgroup.

    ``start[w]`` to ``start[w + 1]`` are workgroup *w*'s entries of ``atom`` (ascending), ``wave``
    and ``channel``; ``per_wave[w, v]`` counts those of its wavefront *v*, ``wave_first[w, v]`` is
    the smallest of them and ``wave_start[w, v]`` the smallest in all channels (-1 if none is).
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
    """A GEMM of m × n × k elements of two bytes, cut into macro-tiles for a ring of GPUs.

    A is stored with K contiguous, so is B (the BLAS's TN layout). The output is column-major (runs
    along M) or row-major (runs along N). Rows of the DMA walk are counted across the runs.

    Workgroup ids follow the dispatch order: chunk after chunk, in each one bands of ``band`` tile
    rows, in each band down the rows, then on to the next tile column.
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
    workgroup_mapping: int
    column_major: bool

    def __post_init__(self):
        run_elements = self.tile_m if self.column_major else self.tile_n
        run_waves = self.waves_m if self.column_major else self.waves_n
        if run_elements % (ELEMENTS * run_waves):
            raise ValueError(
                f"kernel: a wavefront's run of {run_elements // run_waves} elements must be a "
                f"multiple of {ELEMENTS} (one {ATOM_BYTES}-byte atom)"
            )
        wave_run = run_elements // run_waves // ELEMENTS
        if run_waves > 1 and wave_run & (wave_run - 1):
            raise ValueError(
                "kernel: a wavefront's run must be a power of two atoms where wavefronts share a "
                f"run, not {wave_run}"
            )
        for name in ("waves_m", "waves_n"):
            if getattr(self, name) not in (1, 2, 4):
                raise ValueError(f"kernel.{name} must be 1, 2 or 4, not {getattr(self, name)}")
        if self.rows_total * self.pitch > MOST_OUTPUT_ATOMS:
            raise ValueError(
                f"output of {self.rows_total * self.pitch * ATOM_BYTES} bytes exceeds the "
                f"{MOST_OUTPUT_ATOMS * ATOM_BYTES} bytes that the model maps"
            )
        if self.workgroups < self.gpus:
            raise ValueError(
                f"{self.workgroups} workgroups cannot be cut into {self.gpus} chunks: "
                "use a larger matrix or fewer GPUs"
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
        """Of a workgroup in a full depth-U step."""
        return 2 * self.tile_m * self.tile_n * self.depth_u

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def output_bytes(self) -> int:
        return self.m * self.n * ELEMENT_BYTES

    @cached_property
    def cut(self) -> tuple[int, int] | None:
        """Into how many parts the ring's chunks cut the tile rows and the tile columns: equal
        chunks if possible, and of those cuts the one whose chunks need the smallest operands. None
        if only runs of workgroups give a chunk to each GPU."""
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
        """Tile rows of a band: the most, up to the kernel's workgroup mapping, that divide the
        chunk's tile rows."""
        if self.cut is None:
            return min(self.workgroup_mapping, self.grid_m)
        rows = self.grid_m // self.cut[0]
        return max(b for b in range(1, min(rows, self.workgroup_mapping) + 1) if rows % b == 0)

    @cached_property
    def tiles(self) -> tuple[np.ndarray, np.ndarray]:
        """Tile row and tile column of each workgroup id."""
        across, along = self.cut or (1, 1)
        height, width = self.grid_m // across, self.grid_n // along
        corners = [(i * height, j * width) for i in range(across) for j in range(along)]
        if self.m < self.n:
            # The smaller operand is read again and again, so that it should be the one that stays
            # in the cache.
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
        """Whether all chunks consist of the same tiles in the same order."""
        if self.workgroups % self.gpus:
            return False
        _, rows, run, _, _ = self.walk
        shapes = np.stack([rows, run], axis=1).reshape(self.gpus, -1)
        return bool((shapes == shapes[0]).all())

    @cached_property
    def chunk_start(self) -> np.ndarray:
        """First workgroup of each chunk, and the end: gpus + 1 entries."""
        return np.arange(self.gpus + 1) * self.workgroups // self.gpus

    def first_workgroup(self, gpu: int) -> int:
        """Workgroup that ``gpu`` produces first: the start of the chunk after its own."""
        return int(self.chunk_start[(gpu + 1) % self.gpus])

    def chunk_workgroups(self, chunk: int) -> int:
        return int(self.chunk_start[chunk + 1] - self.chunk_start[chunk])

    # The walk: rows of runs, as the DMA engine sees the output.

    @property
    def run(self) -> int:
        return (self.tile_m if self.column_major else self.tile_n) // ELEMENTS

    @property
    def rows(self) -> int:
        return self.tile_n if self.column_major else self.tile_m

    @property
    def run_waves(self) -> int:
        return self.waves_m if self.column_major else self.waves_n

    @property
    def row_waves(self) -> int:
        return self.waves_n if self.column_major else self.waves_m

    @property
    def wave_run(self) -> int:
        return self.run // self.run_waves

    @property
    def wave_rows(self) -> int:
        return self.rows // self.row_waves

    @property
    def pitch(self) -> int:
        """Atoms from one row to the next."""
        return _ceil(self.m if self.column_major else self.n, ELEMENTS)

    @property
    def rows_total(self) -> int:
        return self.n if self.column_major else self.m

    @property
    def run_edge(self) -> int:
        """Atoms of a run in the last tile along the runs."""
        return self.pitch - (_ceil(self.pitch, self.run) - 1) * self.run

    @property
    def rows_edge(self) -> int:
        return self.rows_total - (_ceil(self.rows_total, self.rows) - 1) * self.rows

    @cached_property
    def walk(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """First atom, rows, run, row_edge and run_edge of each workgroup's tile."""
        tile_row, tile_column = self.tiles
        along, across = (tile_row, tile_column) if self.column_major else (tile_column, tile_row)
        run_edge = along == _ceil(self.pitch, self.run) - 1
        row_edge = across == _ceil(self.rows_total, self.rows) - 1
        first = OUTPUT_ATOM + across * self.rows * self.pitch + along * self.run
        return (
            first.astype(np.int64),
            np.where(row_edge, self.rows_edge, self.rows).astype(np.int64),
            np.where(run_edge, self.run_edge, self.run).astype(np.int64),
            row_edge,
            run_edge,
        )

    def live_waves(self, row_edge: bool, run_edge: bool) -> int:
        """Wavefronts of a workgroup that have anything to write."""
        run = self.run_edge if run_edge else self.run
        rows = self.rows_edge if row_edge else self.rows
        return _ceil(run, self.wave_run) * _ceil(rows, self.wave_rows)

    def sectors(self, channels: int, offset_bits: int, channel_bits: int) -> Sectors:
        """The output's atoms in the first ``channels`` channels of the interleave."""
        first, rows, run, _, _ = self.walk
        start, atom, wave, channel = _enumerate(
            first, rows, run, self.pitch, self.wave_run, self.wave_rows, self.run_waves,
            channels, offset_bits, channel_bits,
        )  # fmt: skip
        per_wave = np.zeros((self.workgroups, self.waves), np.int64)
        wave_first = np.full((self.workgroups, self.waves), np.iinfo(np.int64).max)
        tile = np.repeat(np.arange(self.workgroups), np.diff(start)), wave
        np.add.at(per_wave, tile, 1)
        np.minimum.at(wave_first, tile, atom)
        v = np.arange(self.waves)
        corner = (
            v // self.run_waves * self.wave_rows * self.pitch + v % self.run_waves * self.wave_run
        )
        wave_start = first[:, None] + corner
        none = per_wave == 0
        wave_first[none] = wave_start[none] = -1
        return Sectors(start, atom, wave, channel, per_wave, wave_first, wave_start)

    def chunk_rectangle(self, chunk: int) -> tuple[int, int, int]:
        """A chunk as one walk: first atom, rows, run.

        Raises
        ------
        ValueError
            If its tiles do not form a rectangle.
        """
        members = slice(self.chunk_start[chunk], self.chunk_start[chunk + 1])
        first, rows, run, _, _ = self.walk
        first, rows, run = first[members] - OUTPUT_ATOM, rows[members], run[members]
        row, offset = first // self.pitch, first % self.pitch
        bottom, right = (row + rows).max(), (offset + run).max()
        top, left = row.min(), offset.min()
        if (bottom - top) * (right - left) != (rows * run).sum():
            raise ValueError(
                f"chunk {chunk} of {self.workgroups} workgroups over {self.gpus} GPUs is no "
                "rectangle of tiles, which the all-gather's copies need: use a --tp that divides "
                "the tile rows"
            )
        return int(OUTPUT_ATOM + top * self.pitch + left), int(bottom - top), int(right - left)


@njit(cache=True)
def _enumerate(
    first, rows, run, pitch, wave_run, wave_rows, run_waves, channels, offset_bits, channel_bits
):  # fmt: skip
    start = np.zeros(len(first) + 1, np.int64)
    most = 0
    for w in range(len(first)):
        most += rows[w] * run[w]
    atom = np.empty(most, np.int64)
    wave = np.empty(most, np.int64)
    channel = np.empty(most, np.int64)
    used = 0
    for w in range(len(first)):
        for r in range(rows[w]):
            for o in range(run[w]):
                a = first[w] + r * pitch + o
                c = channel_of_atom(a, offset_bits, channel_bits)
                if c < channels:
                    atom[used] = a
                    wave[used] = (r // wave_rows) * run_waves + o // wave_run
                    channel[used] = c
                    used += 1
        start[w + 1] = used
    return start, atom[:used].copy(), wave[:used].copy(), channel[:used].copy()
