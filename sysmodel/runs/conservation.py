"""Conservation of bytes: the traffic of a GEMM and its collectives, checked in every run.

The traffic of a collective by ring has a closed form of its own. The traffic of other algorithms
follows from their schedules, which are checked against closed forms elsewhere.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sysmodel.collectives.schedule import Chunk, Expanded
from sysmodel.collectives.traffic import traffic
from sysmodel.gpu.atoms import ATOM_BYTES, LINE_ATOM_BITS, LINE_ATOMS
from sysmodel.gpu.l2_tags import DIRTY
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.errors import SimulationError
from sysmodel.machine.state import State

__all__ = ["Moves", "check_conservation", "conserved", "unwritten"]

# Counters that depend on the chunks alone, with the bytes of one count.
_COUNTERS = {"reads": ATOM_BYTES, "writes": ATOM_BYTES, "link_bytes": 1}
_WORDS = {"reads": "read", "writes": "write", "link_bytes": "link"}

_Counts = dict[tuple[str, int], int]
"""Counts by counter and number of the activity."""


@dataclass(frozen=True)
class Moves:
    """Activities of a machine, which decide the chunks that are read, written and sent.

    Parameters
    ----------
    gemm : int or None
        Number of the GEMM whose workgroups run, and store their output.
    scatter, gather : int or None
        Numbers of a reduce-scatter and of an all-gather by ring.
    tracked : bool
        The T3 hardware reduces; otherwise kernels on the CUs do.
    together : bool
        One launch of the T3 hardware does both collectives, and all their traffic counts as the
        reduce-scatter's.
    direct : bool
        The T3 hardware reduces, and each GPU sends straight to the owner of each chunk.
    stored : bool
        The GEMM's stores are the reduce-scatter's sends, and a kernel adds what has arrived.
    beside : bool
        The GEMM runs concurrently with the collectives, which reduce another output.
    others : tuple
        Numbers and schedules of collectives by other algorithms, the one that reduces first.
    """

    gemm: int | None = 0
    scatter: int | None = 1
    gather: int | None = 2
    tracked: bool = False
    together: bool = False
    direct: bool = False
    stored: bool = False
    beside: bool = False
    others: tuple[tuple[int, Expanded], ...] = ()

    @property
    def reduction(self) -> int | None:
        """Number of the collective that reduces."""
        if self.scatter is not None:
            return self.scatter
        return next((number for number, one in self.others if any(one.reduces)), None)

    @property
    def collectives(self) -> tuple[int, ...]:
        """Numbers of all collectives."""
        with_forms = (number for number in (self.scatter, self.gather) if number is not None)
        return *with_forms, *(number for number, _ in self.others)


def check_conservation(
    state: State, chunks: int, how: Moves, counts: np.ndarray, titles: Sequence[str]
) -> None:
    """Compare the bytes that all simulated GPUs moved with those that the collectives require.

    Parameters
    ----------
    chunks : int
        Chunks of the output; one of several equal GPUs may stand for all.
    counts : array
        Counters of all simulated GPUs; see :func:`.counters.new_counters`.
    titles : sequence of str
        Titles of the activities, by number.

    Raises
    ------
    SimulationError
        A single access is missing or surplus; the message names the category. The GEMM's reads
        depend on the L2: at least every operand once, at most once for every request.
    """
    gpus = len(state.gpu)
    wanted = conserved(_simulated_sizes(state), state, how)
    if how.together and how.scatter is not None and how.gather is not None:
        for counter in _COUNTERS:
            wanted[counter, how.scatter] += wanted[counter, how.gather]
            wanted[counter, how.gather] = 0
    for (counter, activity), count in wanted.items():
        found, size = int(counts[counter][activity]), _COUNTERS[counter]
        if count != found:
            title = titles[activity] if activity < len(titles) else f"activity {activity}"
            raise SimulationError(
                f"bytes are not conserved: {title} {_WORDS[counter]} moved {found * size} "
                f"bytes in the simulated channels, and {count * size} must move "
                f"over {chunks} chunks"
            )
    if how.gemm is None:
        return
    gemm_reads = int(counts["reads"][how.gemm])
    least, most = _operand_reads(state)
    if not gpus * least <= gemm_reads <= gpus * most:
        raise SimulationError(
            f"bytes are not conserved: {titles[how.gemm]} read moved {gemm_reads * ATOM_BYTES} "
            f"bytes in the simulated channels, not between {gpus * least * ATOM_BYTES} (every "
            f"operand once) and {gpus * most * ATOM_BYTES} (no reuse)"
        )


def _simulated_sizes(state: State) -> np.ndarray:
    """Output atoms of each chunk in the simulated channels."""
    sizes: np.ndarray = (state.chunk_start[:, 1:] - state.chunk_start[:, :-1]).sum(axis=0)
    return sizes


def conserved(sizes: np.ndarray, state: State, how: Moves) -> _Counts:
    """Counts of all simulated GPUs that depend on the chunks alone, by counter and activity.

    The L2 answers the same share of an activity's accesses in all channels as in the simulated
    ones, which may hold more or less than their share of the atoms.

    Parameters
    ----------
    sizes : array
        Output atoms of each chunk in the counted channels.
    """
    gpus, counts = len(state.gpu), {}
    moved, simulated = (_of_gpus(one, gpus, how) for one in (sizes, _simulated_sizes(state)))
    in_l2 = _in_l2(state, how)
    for key in _exact(how):
        whole = Fraction(moved[key], simulated[key]) if simulated[key] else 1
        atoms = moved[key] - whole * in_l2.get(key, 0)
        counts[key] = atoms * ATOM_BYTES // _COUNTERS[key[0]]
    return counts


def _of_gpus(sizes: np.ndarray, gpus: int, how: Moves) -> Counter[tuple[str, int]]:
    """Atoms that all simulated GPUs move, by counter and activity."""
    moved = [_moved(np.roll(sizes, -g), how) for g in range(gpus)]
    moved += [one for number, schedule in how.others for one in _by(schedule, number, sizes, gpus)]
    return sum((Counter({key: int(n) for key, n in one.items()}) for one in moved), Counter())


def _exact(how: Moves) -> list[tuple[str, int]]:
    """Counters and activities whose counts are exact: all but the GEMM's reads."""
    return [
        (counter, activity)
        for activity in range(MOST_ACTIVITIES)
        for counter in ("writes", "reads", "link_bytes")
        if (counter, activity) != ("reads", how.gemm)
    ]


def _in_l2(state: State, how: Moves) -> _Counts:
    """Atoms by category that did not reach the memory: dirty atoms of the last kernel, if its end
    does not flush them, and atoms that the collectives loaded from the L2.

    Raises
    ------
    SimulationError
        A collective loaded fewer atoms from the L2 than the memory lacks, so it read old data.
    """
    dirty = unwritten(state)
    loaded = state.gpu["l2_reads"].sum(axis=0)
    found = {("reads", number): int(loaded[number]) for number in how.collectives}
    if how.gemm is not None:
        found["writes", how.gemm] = dirty
    reduction = how.reduction
    if reduction is not None and loaded[reduction] < dirty and not how.beside:
        raise SimulationError(
            f"{dirty} atoms never reached the memory, and the reduction loaded {loaded[reduction]} "
            "from the L2"
        )
    return found


def unwritten(state: State) -> int:
    """Atoms of outputs that are in the L2, or were overwritten there."""
    dirty = sum(int(mask).bit_count() for mask in state.l2.ways[:, DIRTY].ravel())
    return dirty + int(state.gpu["overwritten"].sum())


def _moved(size: np.ndarray, how: Moves) -> _Counts:
    """Atoms by category of the GPU whose own chunk has ``size[0]`` atoms; the chunks follow in the
    order in which it produces them, so it sends ``size[1]`` first."""
    whole, own, first, last = size.sum(), size[0], size[1], size[-1]
    moved = {}
    if how.gemm is not None:
        # A tracked GEMM stores the first chunk remotely.
        # A fused or direct one stores all chunks but its own remotely.
        to_owners = how.stored or how.direct
        kept = whole - first if how.tracked else own if to_owners else whole
        moved["writes", how.gemm] = kept
    if how.gather is not None:
        sent = (len(size) - 1) * own if how.direct else whole - last
        moved["reads", how.gather] = own if how.direct else sent
        moved["link_bytes", how.gather] = sent
        moved["writes", how.gather] = whole - own
    if how.scatter is not None:
        moved["link_bytes", how.scatter] = whole - own
        if how.stored:
            # The own chunk's contributions of all other GPUs arrive; the sum reads all of them, and
            # is written.
            moved["reads", how.scatter] = moved["writes", how.scatter] = len(size) * own
        elif how.direct:
            # The contributions of all other GPUs arrive.
            moved["reads", how.scatter] = 0
            moved["writes", how.scatter] = (len(size) - 1) * own
        elif how.tracked:
            # Without the GEMM, the first chunk is read.
            moved["reads", how.scatter] = whole - own - (0 if how.gemm is None else first)
            moved["writes", how.scatter] = whole - first
        else:
            # The first chunk is read once, each other chunk with its second operand. Incoming
            # chunks go to the staging buffer: all but the sender's own chunk, our first; then the
            # result is written.
            moved["reads", how.scatter] = first + 2 * (whole - first)
            moved["writes", how.scatter] = whole - first + own
    return moved


def _by(schedule: Expanded, number: int, sizes: np.ndarray, gpus: int) -> list[_Counts]:
    """Atoms that a schedule moves on each simulated GPU."""

    def size(chunk: Chunk) -> int:
        whole, part = int(sizes[chunk.owner]), chunk.part
        return whole * (part + 1) // schedule.parts - whole * part // schedule.parts

    return [
        {("reads", number): one.read, ("writes", number): one.written}
        | {("link_bytes", number): one.sent}
        for one in traffic(schedule, size)[:gpus]
    ]


def _operand_reads(state: State) -> tuple[int, int]:
    """Fewest and most atoms that the GEMM reads from the simulated channels' memory."""
    atoms = np.array([mask.bit_count() for mask in range(1 << LINE_ATOMS)])
    output_atoms = atoms[state.line_request_mask]
    per_tile = np.add.reduceat(
        np.append(output_atoms, 0), np.minimum(state.line_request_start[:, 0], len(output_atoms))
    )
    per_tile[state.line_request_start[:, 0] == state.line_request_start[:, -1]] = 0
    uses = np.bincount(np.concatenate([state.tile_row, state.tile_column]), minlength=len(per_tile))
    # Lines of neighbouring steps may share an atom.
    mask = state.line_request_mask
    line = (state.line_request_channel << 48) | state.line_request_line << LINE_ATOM_BITS
    distinct = np.unique(
        np.concatenate([(line + i)[mask >> i & 1 == 1] for i in range(LINE_ATOMS)])
    )
    return len(distinct), int((per_tile * uses).sum())
