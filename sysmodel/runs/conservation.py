"""Conservation of bytes: the traffic of a ring all-reduce, checked in every run."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sysmodel.gpu.atoms import ATOM_BYTES, LINE_ATOM_BITS, LINE_ATOMS
from sysmodel.gpu.l2_tags import DIRTY
from sysmodel.lib.errors import SimulationError
from sysmodel.machine.state import State

from .counters import AG, GEMM, RS

__all__ = ["Reduction", "check_conservation", "conserved"]

# Counters that depend on the ring alone, with the bytes of one count.
_CATEGORIES = {
    "GEMM write": ("writes", GEMM, ATOM_BYTES),
    "RS read": ("reads", RS, ATOM_BYTES),
    "RS write": ("writes", RS, ATOM_BYTES),
    "AG read": ("reads", AG, ATOM_BYTES),
    "AG write": ("writes", AG, ATOM_BYTES),
    "RS link": ("link_bytes", RS, 1),
    "AG link": ("link_bytes", AG, 1),
}


@dataclass(frozen=True)
class Reduction:
    """Reduction of the GEMM's partial results, which decides the chunks that are read and written.

    Parameters
    ----------
    gemm : bool
        The GEMM's workgroups run, and store their output.
    tracked : bool
        The T3 hardware reduces; otherwise kernels on the CUs do.
    scatter : bool
        The partial results are reduced and scattered.
    gather : bool
        An all-gather follows.
    beside : bool
        The GEMM runs concurrently with the collectives, which reduce another output.
    """

    gemm: bool = True
    tracked: bool = False
    scatter: bool = True
    gather: bool = True
    beside: bool = False


def check_conservation(state: State, chunks: int, how: Reduction, counts: np.ndarray) -> None:
    """Compare the bytes that all simulated GPUs moved with those that the ring requires.

    Parameters
    ----------
    chunks : int
        Chunks of the ring; one GPU of a symmetric ring may stand for all.
    counts : array
        Counters of all simulated GPUs; see :func:`.counters.new_counters`.

    Raises
    ------
    SimulationError
        A single access is missing or surplus; the message names the category. The GEMM's reads
        depend on the L2: at least every operand once, at most once for every request.
    """
    gpus = len(state.gpu)
    sizes = (state.chunk_start[:, 1:] - state.chunk_start[:, :-1]).sum(axis=0)
    wanted = conserved(sizes, state, how, whole=Fraction(1))
    for category, (counter, phase, size) in _CATEGORIES.items():
        if wanted[counter, phase] != int(counts[counter][phase]):
            raise SimulationError(
                f"bytes are not conserved: {category} moved {int(counts[counter][phase]) * size} "
                f"bytes in the simulated channels, and {wanted[counter, phase] * size} must move "
                f"over {chunks} chunks"
            )
    gemm_reads = int(counts["reads"][GEMM])
    least, most = _operand_reads(state) if how.gemm else (0, 0)
    if not gpus * least <= gemm_reads <= gpus * most:
        raise SimulationError(
            f"bytes are not conserved: GEMM read moved {gemm_reads * ATOM_BYTES} bytes in the "
            f"simulated channels, not between {gpus * least * ATOM_BYTES} (every operand once) and "
            f"{gpus * most * ATOM_BYTES} (no reuse)"
        )


def conserved(
    sizes: np.ndarray, state: State, how: Reduction, whole: Fraction
) -> dict[tuple[str, int], int]:
    """Counts of all simulated GPUs that depend on the ring alone, by counter and phase.

    Parameters
    ----------
    sizes : array
        Output atoms of each chunk in the counted channels.
    whole : Fraction
        Counted channels over simulated channels, by which the atoms in the L2 are scaled.
    """
    moved = [_moved(np.roll(sizes, -g), how) for g in range(len(state.gpu))]
    in_l2 = _in_l2(state, how)
    return {
        (counter, phase): (
            (sum(int(one[category]) for one in moved) - whole * in_l2.get(category, 0))
            * ATOM_BYTES
            // size
        )
        for category, (counter, phase, size) in _CATEGORIES.items()
    }


def _in_l2(state: State, how: Reduction) -> dict[str, int]:
    """Atoms by category that did not reach the memory: dirty atoms of the last kernel, if its end
    does not flush them, and atoms that the collectives loaded from the L2.

    Raises
    ------
    SimulationError
        A collective loaded fewer atoms from the L2 than the memory lacks, so it read old data.
    """
    dirty = sum(int(mask).bit_count() for mask in state.l2.ways[:, DIRTY].ravel())
    dirty += int(state.gpu["overwritten"].sum())
    loaded = state.gpu["l2_reads"].sum(axis=0)
    if loaded[RS] < dirty and not how.beside:
        raise SimulationError(
            f"{dirty} atoms never reached the memory, and the reduce-scatter loaded {loaded[RS]} "
            "from the L2"
        )
    return {"GEMM write": dirty, "RS read": int(loaded[RS]), "AG read": int(loaded[AG])}


def _moved(size: np.ndarray, how: Reduction) -> dict[str, int]:
    """Atoms by category of the GPU whose own chunk has ``size[0]`` atoms; the chunks follow in the
    order in which it produces them, so it sends ``size[1]`` first."""
    whole, own, first, last = size.sum(), size[0], size[1], size[-1]
    moved = {
        "RS link": whole - own if how.scatter else 0,
        "AG read": whole - last if how.gather else 0,
        "AG write": whole - own if how.gather else 0,
        "AG link": whole - last if how.gather else 0,
    }
    if how.tracked:
        # The first chunk is stored remotely; without the GEMM it is read first.
        return moved | {
            "GEMM write": whole - first if how.gemm else 0,
            "RS read": whole - own - (first if how.gemm else 0),
            "RS write": whole - first,
        }
    # The first chunk is read once, each other chunk with its second operand. Incoming chunks go to
    # the staging buffer: all but the sender's own chunk, our first; then the result is written.
    return moved | {
        "GEMM write": whole if how.gemm else 0,
        "RS read": first + 2 * (whole - first) if how.scatter else 0,
        "RS write": whole - first + own if how.scatter else 0,
    }


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
