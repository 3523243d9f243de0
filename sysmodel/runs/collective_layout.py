"""Layout of a collective's data: places in each GPU's memory, and windows to the other GPUs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from sysmodel.collectives.schedule import Chunk
from sysmodel.collectives.steps import Step, Work
from sysmodel.gpu.collective_step import Target, Task
from sysmodel.gpu.kernel import Kernel
from sysmodel.machine.offers import CONTEXT_COLLECTIVE, CONTEXT_NONE
from sysmodel.machine.program import Writes, collective_writes, place_offsets
from sysmodel.network.windows import window_atoms

__all__ = ["ChunkAtoms", "CollectiveLayout"]

ChunkAtoms = Callable[[Chunk], int]
"""Atoms of a chunk."""


class CollectiveLayout:
    """Places and windows that the steps of a schedule use, as addresses of an output.

    Parameters
    ----------
    kernel : Kernel
        Kernel whose output is the buffer; it has a chunk for each owner.
    channels : int
        Memory channels of a GPU.
    atoms : callable or None
        Atoms of a chunk, at the begin of the part that the output has for it; None if each owner's
        data is one chunk. Otherwise the output's chunks must be contiguous.

    Attributes
    ----------
    windowed : bool
        The stores need the windows of other GPUs.
    """

    def __init__(
        self,
        kernel: Kernel,
        channels: int,
        steps: Sequence[Step],
        atoms: ChunkAtoms | None = None,
        parts: int = 1,
    ):
        self._kernel, self._channels, self._atoms, self._parts = kernel, channels, atoms, parts
        self._chunk_end = np.cumsum(kernel.chunk_atoms)
        stores = {(rank, *target) for rank, work in _by_rank(steps) for target in work.targets}
        loads = {place for _, work in _by_rank(steps) for place in work.operands}
        used = {place for _, _, place in stores} | loads
        self._offsets = place_offsets(channels, 1 + max(used, default=0))
        leaving = {(rank, peer, place) for rank, peer, place in stores if rank != peer}
        self._places_beyond = {place for _, _, place in leaving}
        # Stores to the neighbour downstream need no window; its memory has the same addresses.
        self.windowed = len(self._places_beyond) > 1 or any(
            peer != (rank - 1) % kernel.gpus for rank, peer, _ in leaving
        )

    @property
    def arrivals_offset(self) -> int:
        """Offset of the place in which all arrivals come, if no windows are needed."""
        (place,) = self._places_beyond or {0}
        return self._offsets[place]

    def writes(self) -> Writes:
        """Map the places, and the windows, in the hardware's registers."""
        if self.windowed:
            staged = self._offsets[1:2] or [window_atoms(1, self._channels)]
            beyond = window_atoms(self._kernel.gpus, self._channels) + self._offsets[-1]
            return self._mapped((staged[0], beyond))
        offset = self.arrivals_offset
        return self._mapped((offset, offset) if offset else None)

    def _mapped(self, staged: tuple[int, int] | None) -> Writes:
        return collective_writes(self._kernel, CONTEXT_COLLECTIVE, staged=staged)

    def task(self, rank: int, work: Work) -> Task:
        """Task of a rank's CUs."""
        operands = tuple(self._offsets[place] for place in work.operands)
        return Task(
            work.chunk.owner, operands, tuple(self._targets(rank, work)), self.within(work.chunk)
        )

    def _targets(self, rank: int, work: Work) -> Iterator[Target]:
        """Yield the places to which a rank stores, in its own memory and in those of others."""
        ranks = self._kernel.gpus
        leaving = {}
        for peer, place in work.targets:
            if peer == rank:
                yield Target(self._offsets[place], CONTEXT_NONE)
            else:
                window = ranks if work.multicast else (peer - rank) % ranks
                leaving[window if self.windowed else 0] = place
        for window, place in leaving.items():
            window_offset = window_atoms(window, self._channels)
            yield Target(self._offsets[place] + window_offset, CONTEXT_COLLECTIVE)

    def within(self, chunk: Chunk) -> tuple[int, int] | None:
        """First and end atom of a chunk; None for the whole part of its owner."""
        if self._atoms is None:
            return None
        owned = int(self._kernel.chunk_atoms[chunk.owner])
        first = self._kernel.output_atom + int(self._chunk_end[chunk.owner]) - owned
        first += owned * chunk.part // self._parts
        return first, first + self._atoms(chunk)


def _by_rank(steps: Iterable[Step]) -> Iterator[tuple[int, Work]]:
    """Yield the work of all steps with its rank."""
    for step in steps:
        yield from chain.from_iterable(
            ((rank, one) for one in work) for rank, work in enumerate(step.work)
        )
