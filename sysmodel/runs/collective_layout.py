"""Layout of a collective's data: places in each GPU's memory, and windows to the other GPUs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from sysmodel.collectives.schedule import Chunk
from sysmodel.collectives.steps import Step, Work
from sysmodel.config.dram_timing import DramTiming
from sysmodel.config.system import System
from sysmodel.gpu.address_spaces import CONTEXT_COLLECTIVE, CONTEXT_NONE
from sysmodel.gpu.collective import BLOCK
from sysmodel.gpu.collective_step import WHOLE, Operand, Share, Target, Task
from sysmodel.gpu.kernel import Kernel
from sysmodel.machine.program import Writes, collective_writes, place_offsets
from sysmodel.network.windows import window_atoms

__all__ = ["ChunkAtoms", "CollectiveLayout", "rotations"]

_WAYS = 8
"""Channels of the library, with a CU each, for each part of a chunk; as RCCL's for each link."""

ChunkAtoms = Callable[[Chunk], int]
"""Atoms of a chunk."""

_BANK_ORDER = ("bank", "group", "stack")  # column commands of other stacks cost more time


class CollectiveLayout:
    """Places and windows that the steps of a schedule use, as addresses of an output.

    Parameters
    ----------
    kernel : Kernel
        Kernel whose output is the buffer; it has a chunk for each owner.
    atoms : callable or None
        Atoms of a chunk, at the begin of the data of its owner, which must be contiguous; None for
        all of its owner's data, which the parts of a schedule share equally.
    parts : int
        Parts into which each owner's data is cut.

    Attributes
    ----------
    windowed : bool
        The stores need the windows of other GPUs.
    """

    def __init__(
        self,
        kernel: Kernel,
        system: System,
        steps: Sequence[Step],
        atoms: ChunkAtoms | None = None,
        parts: int = 1,
    ):
        self._kernel, self._atoms, self._parts = kernel, atoms, parts
        self._channels = system.dram.channels
        self._chunk_end = np.cumsum(kernel.chunk_atoms)
        stores = {(rank, *target) for rank, work in _by_rank(steps) for target in work.targets}
        loads = {place for _, work in _by_rank(steps) for place in work.operands}
        used = {place for _, _, place in stores} | loads
        count = 1 + max(used, default=0)
        self._offsets = place_offsets(self._channels, count)
        self._merges = any(work.merged for _, work in _by_rank(steps))
        leaving = {
            (rank, peer, place)
            for rank, work in _by_rank(steps)
            for peer, place in work.targets
            if rank != peer or work.merged
        }
        self._places_beyond = {place for _, _, place in leaving}
        # Stores to the neighbour downstream need no window; its memory has the same addresses.
        self.windowed = len(self._places_beyond) > 1 or any(
            peer != (rank - 1) % kernel.gpus for rank, peer, _ in leaving
        )
        # The mirror copies what it finds at the places of the output.
        turns = rotations(system.dram.timing_cycles, count) if self.windowed else [0] * count
        self._operands = [*map(Operand, self._offsets, turns)]

    @property
    def arrivals_offset(self) -> int:
        """Offset of the place in which all arrivals come, if no windows are needed."""
        (place,) = self._places_beyond or {0}
        return self._offsets[place]

    def writes(self, generation: int) -> Writes:
        """Map the places, and the windows, in the hardware's registers, for a launch."""
        if self.windowed:
            staged = self._offsets[1:2] or [window_atoms(1, self._channels)]
            last = self._kernel.gpus * (1 + self._merges)
            beyond = window_atoms(last, self._channels) + self._offsets[-1]
            return self._mapped((staged[0], beyond), generation)
        offset = self.arrivals_offset
        return self._mapped((offset, offset) if offset else None, generation)

    def _mapped(self, staged: tuple[int, int] | None, generation: int) -> Writes:
        return collective_writes(
            self._kernel, CONTEXT_COLLECTIVE, staged=staged, generation=generation
        )

    def tasks(self, rank: int, work: Sequence[Work]) -> list[Task]:
        """Tasks of a rank's CUs in a step. A part of a chunk has several, each with wavefronts of
        its own; those of the parts alternate."""
        each = [self._tasks(rank, one) for one in work]
        return [task for together in zip(*each, strict=True) for task in together]

    def _tasks(self, rank: int, work: Work) -> list[Task]:
        operands = tuple(self._operands[place] for place in work.operands)
        targets = tuple(self._targets(rank, work))
        first, end, parts = self.share(work.chunk)
        return [
            Task(
                work.chunk.owner,
                operands,
                targets,
                self.within(work.chunk),
                Share(number, number + 1, parts),
                work.awaits,
                work.targets[0][0] if work.merged else -1,
            )
            for number in range(first, end)
        ]

    def _targets(self, rank: int, work: Work) -> Iterator[Target]:
        """Yield the places to which a rank stores, in its own memory and in those of others."""
        ranks = self._kernel.gpus
        leaving = {}
        for peer, place in work.targets:
            if work.merged:
                leaving[ranks + 1 + (peer - rank) % ranks] = place
            elif peer == rank:
                offset, rotation = self._operands[place]
                yield Target(offset, CONTEXT_NONE, rotation)
            else:
                window = ranks if work.multicast else (peer - rank) % ranks
                leaving[window if self.windowed else 0] = place
        for window, place in leaving.items():
            offset, rotation = self._operands[place]
            offset += window_atoms(window, self._channels)
            yield Target(offset, CONTEXT_COLLECTIVE, rotation)

    def has(self, chunk: Chunk) -> bool:
        """Test whether a chunk has any data."""
        return self._atoms is None or self._atoms(chunk) > 0

    def within(self, chunk: Chunk) -> tuple[int, int] | None:
        """First and end atom of a chunk; None for the data of its owner, or a share of it."""
        if self._atoms is None or self._parts > 1:
            return None
        owned = int(self._kernel.chunk_atoms[chunk.owner])
        first = self._kernel.output_atom + int(self._chunk_end[chunk.owner]) - owned
        return first, first + self._atoms(chunk)

    def share(self, chunk: Chunk) -> Share:
        """Share of its owner's data that a chunk is, in each channel: any channel stands for all.

        Parts of a chunk go different ways, each by several channels of the library.
        """
        if self._parts == 1:
            return WHOLE
        return Share(chunk.part * _WAYS, (chunk.part + 1) * _WAYS, self._parts * _WAYS)


def rotations(timing: DramTiming, places: int) -> list[int]:
    """Atoms by which the data of each place are rotated among a channel's atoms.

    The data of all places would else be in the same banks, in other rows: a sum would open a row
    for each block of each operand. A rotation moves a block into another bank, of as many as there
    are.
    """
    steps = _bank_steps(timing)
    return [
        sum(step for bit, step in enumerate(steps) if place >> bit & 1) for place in range(places)
    ]


def _bank_steps(timing: DramTiming) -> list[int]:
    """Distances in atoms of a channel that change one bit of the bank each, and a whole block."""
    found, step = [], 1
    for name, bits in timing.address_fields:
        for _ in range(bits):
            if name != "column" and step >= BLOCK:
                found.append((_BANK_ORDER.index(name), step))
            step *= 2
    return [step for _, step in sorted(found)]


def _by_rank(steps: Iterable[Step]) -> Iterator[tuple[int, Work]]:
    """Yield the work of all steps with its rank."""
    for step in steps:
        yield from chain.from_iterable(
            ((rank, one) for one in work) for rank, work in enumerate(step.work)
        )
