"""Launches with real values: the product of each context goes through the hardware, and the result
is compared with the expected one."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from sysmodel.collectives.launch_map import TrackedSchedule
from sysmodel.collectives.reference import reference_chunks
from sysmodel.collectives.schedule import Chunk, Expanded
from sysmodel.config.system import System
from sysmodel.engine.ports import DATA_WORDS
from sysmodel.gpu.address_spaces import gemm_space
from sysmodel.gpu.atoms import ELEMENTS
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.progress import Report, no_progress
from sysmodel.machine.machine import Machine
from sysmodel.machine.program import Writes, map_writes
from sysmodel.machine.progress import share_done
from sysmodel.machine.queue import Queued
from sysmodel.machine.until import UNTIL_REDUCED

from .check_options import Mismatch

__all__ = ["DTYPES", "SHOWN", "DataLaunch", "Work", "reference"]

DTYPES = {
    "fp16": (np.dtype(np.float16), 0x7E00),
    "bf16": (np.dtype(ml_dtypes.bfloat16), 0x7FC0),
}
"""NumPy type of each format, and the only NaN that the reduce unit returns in it."""

_UNITS = {DTYPES["fp16"][0]: 2.0**-11, DTYPES["bf16"][0]: 2.0**-8}
"""Half of a unit in the last place, by the format's NumPy type, relative to the value."""

SHOWN = 5
"""Number of mismatches that are reported one by one."""

_SETTLING_CYCLES = 16  # after the end, for late errors


@dataclass(frozen=True)
class Work:
    """Work of a context.

    Parameters
    ----------
    dtype : str
        Format: ``fp16`` or ``bf16``.
    products : array
        Each GPU's product: (gpus, m, n).
    corner : (int, int)
        Row and column of a larger output at which this output begins.
    """

    kernel: Kernel
    dtype: str
    products: np.ndarray
    corner: tuple[int, int] = (0, 0)


class DataLaunch:
    """Launch of each context, all at the same time, on all GPUs; a context manager.

    Parameters
    ----------
    works : sequence of Work
        Work of each context, with buffers one after the other.
    tracked : TrackedSchedule or None
        Reduce-scatter that the hardware runs; None for the ring's.
    engine, channels, link_stall, seed, progress
        See :class:`Machine`.

    Attributes
    ----------
    machine : Machine
    """

    def __init__(
        self,
        system: System,
        works: Sequence[Work],
        *,
        engine: str,
        channels: int,
        tracked: TrackedSchedule | None = None,
        link_stall: float = 0.0,
        seed: int = 0,
        progress: Report = no_progress,
    ):
        self.works = works
        base, end = works[0].kernel.output_atom, works[-1].kernel.output_end
        self._buffers = [
            slice(work.kernel.output_atom - base, work.kernel.output_end - base) for work in works
        ]
        partial = np.zeros((works[0].kernel.gpus, end - base, DATA_WORDS), np.uint64)
        for work, buffer in zip(works, self._buffers, strict=True):
            partial[:, buffer] = [_words(work.kernel.layout, one) for one in work.products]
        with ExitStack() as opened:
            self.machine = opened.enter_context(
                Machine(
                    system,
                    works[0].kernel,
                    behind=[Queued(one.kernel, n) for n, one in enumerate(works[1:], 1)],
                    engine=engine,
                    channels=channels,
                    mirror=False,
                    partial=partial,
                    tracked=tracked,
                    link_stall=link_stall,
                    seed=seed,
                    progress=progress,
                )
            )
            self._exit = opened.pop_all()

    def __enter__(self) -> "DataLaunch":
        return self

    def __exit__(self, *exception: object) -> None:
        self._exit.close()

    def begin(self, *, skew_cycles: int = 0) -> None:
        """Program the contexts and start their kernels; see :meth:`Machine.launch`."""
        maps = [
            [write for context in range(len(self.works)) for write in self._map(context, g)]
            for g in range(self.machine.gpus)
        ]
        self.machine.launch(maps, skew_cycles=skew_cycles)

    def _map(self, context: int, gpu: int) -> Writes:
        work = self.works[context]
        return map_writes(
            work.kernel,
            self.machine.system,
            gpu,
            self.machine.tracked,
            address_space=gemm_space(context),
            op="sum",
            dtype=work.dtype,
            context=context,
            contexts=len(self.works),
        )

    def finish(self, progress: Callable[[float], None] = lambda done: None) -> None:
        """Let GEMMs and reduce-scatters run to their end.

        Raises
        ------
        SimulationError
            See :meth:`Machine.run`.
        """
        activities = self.machine.activity, self.machine.communication
        self.machine.run(UNTIL_REDUCED, lambda now: progress(share_done(self.machine, activities)))
        self.machine.idle(_SETTLING_CYCLES)

    def compare(
        self, context: int, *, within_bound: bool = False
    ) -> tuple[int, tuple[Mismatch, ...]]:
        """Count the wrong elements in each GPU's own chunk, and list the first: those whose bits
        differ or, ``within_bound``, those beyond the bound of :func:`error_bound`."""
        work = self.works[context]
        dtype, nan = DTYPES[work.dtype]
        expected = reference(work.products, nan, self.machine.tracked.schedule)
        bound = error_bound(work.products) if within_bound else None
        chunk = _chunk_of_element(work.kernel.chunks)
        mismatches = 0
        first: list[Mismatch] = []
        for g, words in enumerate(self.machine.state.stored[:, self._buffers[context]]):
            found = np.ascontiguousarray(_matrix(work.kernel.layout, words, dtype))
            wanted, got = expected[g].view(np.uint16), found.view(np.uint16)
            wrong = wanted != got
            if bound is not None:
                with np.errstate(invalid="ignore"):  # outside the chunk, any bits
                    error = np.abs(found.astype(np.float64) - _exact(work.products))
                wrong = ~(error <= bound)
            wrong &= chunk == g
            mismatches += int(wrong.sum())
            first += [
                Mismatch(
                    gpu=g,
                    row=work.corner[0] + int(row),
                    column=work.corner[1] + int(column),
                    expected=int(wanted[row, column]),
                    found=int(got[row, column]),
                    context=context,
                )
                for row, column in np.argwhere(wrong)[: SHOWN - len(first)]
            ]
        return mismatches, tuple(first)


def reference(products: np.ndarray, nan: int, schedule: Expanded) -> np.ndarray:
    """Add up each GPU's own chunk as a reduce-scatter does: (gpus, m, n).

    Every addition rounds. A NaN is the reduce unit's canonical NaN.
    """
    chunks = [Chunk(owner) for owner in range(len(products))]
    with np.errstate(over="ignore", invalid="ignore"):
        kept = reference_chunks(schedule, [dict.fromkeys(chunks, one) for one in products])
    sums = np.stack([one[chunk] for one, chunk in zip(kept, chunks, strict=True)])
    sums.view(np.uint16)[np.isnan(sums)] = nan
    return sums


def error_bound(products: np.ndarray) -> np.ndarray:
    """Bound the error of a sum of all GPUs' products that are added in any order: (m, n).

    Every one of the GPUs − 1 additions rounds a partial sum, which is at most the sum of the
    absolute values, by at most half a unit in the last place (N. J. Higham, The accuracy of
    floating point summation, 1993, eq. 2.6, whose terms of higher order are in the factor).
    """
    additions, unit = len(products) - 1, _UNITS[products.dtype]
    growth = additions * unit / (1 - additions * unit)
    bound: np.ndarray = growth * np.abs(products.astype(np.float64)).sum(axis=0)
    return bound


def _exact(products: np.ndarray) -> np.ndarray:
    """Add all GPUs' products without a rounding that matters."""
    exact: np.ndarray = products.astype(np.float64).sum(axis=0)
    return exact


def _words(layout: OutputLayout, matrix: np.ndarray) -> np.ndarray:
    """Words of a matrix in the layout of the output buffer: (atoms, 4). Padding is zero."""
    rows = matrix.T if layout.column_major else matrix
    padded = np.zeros((rows.shape[0], layout.stride * ELEMENTS), matrix.dtype)
    padded[:, : rows.shape[1]] = rows
    return padded.view(np.uint64).reshape(-1, 4)


def _matrix(layout: OutputLayout, words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Matrix of words; the inverse of :func:`_words`."""
    rows = np.ascontiguousarray(words).view(dtype).reshape(layout.outer_total, -1)
    along = layout.tiling.m if layout.column_major else layout.tiling.n
    matrix = rows[:, :along]
    return matrix.T if layout.column_major else matrix


def _chunk_of_element(chunks: Chunks) -> np.ndarray:
    """Chunk of each element of the output: (m, n)."""
    tiling = chunks.tiling
    chunk = np.empty((tiling.grid_m, tiling.grid_n), np.int64)
    chunk[chunks.tiles] = chunks.of_workgroup
    tiles = np.repeat(np.repeat(chunk, tiling.tile_m, axis=0), tiling.tile_n, axis=1)
    return tiles[: tiling.m, : tiling.n]
