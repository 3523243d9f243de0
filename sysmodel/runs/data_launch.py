"""Launches with real values: the product of each context goes through the hardware, and the result
is compared with the expected one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sysmodel.collectives.launch_map import TrackedSchedule
from sysmodel.collectives.schedule import Chunk
from sysmodel.config.system import System
from sysmodel.engine.ports import DATA_WORDS
from sysmodel.gpu.address_spaces import gemm_space
from sysmodel.gpu.atoms import ELEMENTS
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.geometry.split_k import SplitChunks
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.interleave import channel_of_atom
from sysmodel.lib.progress import Report, no_progress
from sysmodel.machine.machine import Machine
from sysmodel.machine.program import Writes, map_writes
from sysmodel.machine.progress import share_done
from sysmodel.machine.queue import Queued
from sysmodel.machine.until import UNTIL_REDUCED

from .check_options import Mismatch
from .data_reference import DTYPES, error_bound, exact_sum, reference

__all__ = ["DTYPES", "SHOWN", "DataLaunch", "Work", "data_places"]

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
    memory : array or None
        What each GPU's memory holds before the launch where it keeps sums: (gpus, m, n). It holds
        zeros elsewhere. None: random contents.
    stored_atoms : array or None
        Atoms that the workgroups of each GPU store, the first ones of their tiles: (gpus,
        workgroups); None: all.
    splits : array or None
        Products of each split of a split-K kernel, which add up to ``products``: (splits, gpus, m,
        n); None: the kernel has one.
    """

    kernel: Kernel
    dtype: str
    products: np.ndarray
    corner: tuple[int, int] = (0, 0)
    memory: np.ndarray | None = None
    stored_atoms: np.ndarray | None = None
    splits: np.ndarray | None = None

    @property
    def made(self) -> np.ndarray:
        """Products of each split: (splits, gpus, m, n)."""
        return self.products[np.newaxis] if self.splits is None else self.splits


class DataLaunch:
    """Launch of each context, all at the same time, on all GPUs; a context manager.

    Parameters
    ----------
    works : sequence of Work
        Work of each context, with buffers one after the other.
    tracked : TrackedSchedule
        Collective that the hardware runs.
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
        tracked: TrackedSchedule,
        link_stall: float = 0.0,
        seed: int = 0,
        progress: Report = no_progress,
    ):
        self.works = works
        self._places = data_places(system, works, tracked.places)
        base, end = works[0].kernel.output_atom, works[-1].kernel.output_end
        self._buffers = [
            slice(work.kernel.output_atom - base, work.kernel.output_end - base) for work in works
        ]
        splits = max(len(work.made) for work in works)
        partial = np.zeros((works[0].kernel.gpus, splits, end - base, DATA_WORDS), np.uint64)
        for work, buffer in zip(works, self._buffers, strict=True):
            for split, products in enumerate(work.made):
                partial[:, split, buffer] = [_words(work.kernel.layout, one) for one in products]
        partial = partial.reshape(len(partial), -1, DATA_WORDS)
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
                    contents_atoms=end - base + max(self._places),
                    stored_atoms=works[0].stored_atoms,
                    tracked=tracked,
                    link_stall=link_stall,
                    seed=seed,
                    progress=progress,
                )
            )
            self._exit = opened.pop_all()
        for work, buffer in zip(works, self._buffers, strict=True):
            if work.memory is not None:
                self.machine.state.stored[:, buffer] = _memory_words(work)
        if isinstance(chunks := works[0].kernel.chunks, SplitChunks):
            values_from = self.machine.state.values_from[: works[0].kernel.workgroups]
            values_from[:] = chunks.split_of_workgroup * (end - base)

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
            places=self._places,
        )

    def finish(self, progress: Callable[[float], None] = lambda done: None) -> None:
        """Let GEMMs and collectives run to their end.

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
        """Count the wrong elements in the chunks that each GPU keeps, and list the first: those
        whose bits differ or, ``within_bound``, those beyond the bound of :func:`error_bound`."""
        work, tracked = self.works[context], self.machine.tracked
        dtype, nan = DTYPES[work.dtype]
        mismatches = 0
        first: list[Mismatch] = []
        expected = reference(work.products, nan, tracked.schedule, work.memory)
        for g, chunk in self._kept(context):
            found = self._found(context, g, tracked.place_of(chunk, g), dtype)
            wanted, got = expected[g][chunk].view(np.uint16), found.view(np.uint16)
            wrong = wanted != got
            if within_bound:
                terms = np.concatenate(work.made)
                if work.memory is not None:
                    terms = np.concatenate([terms, work.memory[g : g + 1]])
                with np.errstate(invalid="ignore"):  # outside the chunk, any bits
                    error = np.abs(found.astype(np.float64) - exact_sum(terms))
                wrong = ~(error <= error_bound(terms))
            wrong &= self._compared(context, chunk)
            mismatches += int(wrong.sum())
            first += [
                Mismatch(
                    gpu=g,
                    row=work.corner[0] + int(row),
                    column=work.corner[1] + int(column),
                    expected=int(wanted[row, column]),
                    found=int(got[row, column]),
                    context=context,
                    source=chunk.source,
                )
                for row, column in np.argwhere(wrong)[: SHOWN - len(first)]
            ]
        return mismatches, tuple(first)

    def elements(self, context: int) -> int:
        """Count the elements that are compared."""
        return sum(int(self._compared(context, chunk).sum()) for _, chunk in self._kept(context))

    def _kept(self, context: int) -> Iterator[tuple[int, Chunk]]:
        """Yield each GPU and each chunk that it keeps."""
        for g, flows in enumerate(self.machine.tracked.schedule.flows[-1]):
            yield from ((g, flow.chunk) for flow in flows if flow.keeps)

    def _found(self, context: int, gpu: int, place: int, dtype: np.dtype) -> np.ndarray:
        """Output that a GPU's memory holds at a place: (m, n)."""
        buffer, offset = self._buffers[context], self._places[place]
        words = self.machine.state.stored[gpu, buffer.start + offset : buffer.stop + offset]
        return np.ascontiguousarray(_matrix(self.works[context].kernel.layout, words, dtype))

    def _compared(self, context: int, chunk: Chunk) -> np.ndarray:
        """Elements of a chunk that its source stores: (m, n)."""
        work = self.works[context]
        tiling = work.kernel.tiling
        elements = np.ones((tiling.m, tiling.n), bool)
        if self.machine.tracked.is_cut:
            elements = _chunk_of_element(work.kernel.chunks) == chunk.owner
        if work.stored_atoms is not None:
            elements &= _stored_elements(work.kernel, work.stored_atoms[chunk.source])
        return elements


def data_places(system: System, works: Sequence[Work], count: int) -> list[int]:
    """Offsets in atoms from the outputs to places behind each other, with each atom in its channel.

    The number of channels is a power of two. The outputs' addresses have no bits in common with the
    offsets, which consist of blocks whose channel is 0.
    """
    base, end = works[0].kernel.output_atom, works[-1].kernel.output_end
    size = max(end - base, system.dram.channels << system.offset_bits)
    step = 1 << (size - 1).bit_length()
    if count > 1 and base % step:
        raise ValueError(f"an output of {size} atoms at {base} has no places beyond it")
    offsets = (
        offset
        for offset in range(0, step * system.dram.channels * 2 * count, step)
        if channel_of_atom(offset, system.offset_bits, system.dram.channels) == 0
    )
    return list(islice(offsets, count))


def _memory_words(work: Work) -> np.ndarray:
    """Words of the memory of all GPUs before the launch: (gpus, atoms, 4)."""
    assert work.memory is not None
    chunk = _chunk_of_element(work.kernel.chunks)
    held = [np.where(chunk == g, one, 0).astype(one.dtype) for g, one in enumerate(work.memory)]
    return np.stack([_words(work.kernel.layout, one) for one in held])


def _stored_elements(kernel: Kernel, stored_atoms: np.ndarray) -> np.ndarray:
    """Elements of the atoms that a GPU's workgroups store: (m, n)."""
    atoms = kernel.output_atoms(1, 0, 1)
    counts = np.diff(atoms.start)
    place = np.arange(len(atoms.atom)) - np.repeat(atoms.start[:-1], counts)
    here = atoms.atom[place < np.repeat(stored_atoms, counts)] - kernel.output_atom
    words = np.zeros((kernel.layout.atoms, DATA_WORDS), np.uint64)
    words[here] = ~np.uint64(0)
    elements: np.ndarray = _matrix(kernel.layout, words, np.dtype(np.uint16)) != 0
    return elements


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
