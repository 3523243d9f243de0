"""The bytes that a ring all-reduce must move, checked in every run."""

from dataclasses import dataclass

import numpy as np

from sysmodel.gpu.kernel import ATOM_BYTES
from sysmodel.lib.errors import SimulationError
from sysmodel.machine.state import State

__all__ = ["Reduction", "check_conservation"]

_CATEGORIES = ("GEMM write", "RS read", "RS write", "AG read", "AG write", "RS link", "AG link")


@dataclass(frozen=True)
class Reduction:
    """How the partial results of the GEMM are reduced: who reads and writes what, in chunks.

    Parameters
    ----------
    gemm : bool
        The GEMM's workgroups run, and store their output.
    tracked : bool
        By the T3 hardware; else by kernels on the CUs.
    gather : bool
        An all-gather follows.
    """

    gemm: bool = True
    tracked: bool = False
    gather: bool = True


def check_conservation(
    state: State, chunks: int, how: Reduction, traffic: np.ndarray, link_bytes: np.ndarray
) -> None:
    """Compare what all simulated GPUs moved in the simulated channels with what they had to.

    Parameters
    ----------
    chunks : int
        Of the ring; one GPU of a symmetric ring may stand for all.
    traffic : array of int, (6,)
        Accesses of all simulated GPUs: gemm_read, gemm_write, rs_read, rs_write, ag_read, ag_write.
    link_bytes : array of int, (2,)
        Sent by all simulated GPUs in reduce-scatter and all-gather.

    Raises
    ------
    SimulationError
        If a single access is missing or too many; names the category. The GEMM's reads depend on
        the L2 and are held between one read of every operand and one for every request.
    """
    gpus = len(state.gpu)
    sizes = (state.chunk_start[:, 1:] - state.chunk_start[:, :-1]).sum(axis=0)
    expected = sum(_moved(np.roll(sizes, -g), how) for g in range(gpus))
    found = [*traffic[1:], *(link_bytes // ATOM_BYTES)]
    for category, wanted, counted in zip(_CATEGORIES, expected, found, strict=True):
        if wanted != counted:
            raise SimulationError(
                f"bytes are not conserved: {category} moved {counted * ATOM_BYTES} bytes in the "
                f"simulated channels, and {wanted * ATOM_BYTES} must move over {chunks} chunks"
            )
    least, most = _operand_reads(state) if how.gemm else (0, 0)
    if not gpus * least <= traffic[0] <= gpus * most:
        raise SimulationError(
            f"bytes are not conserved: GEMM read moved {traffic[0] * ATOM_BYTES} bytes in the "
            f"simulated channels, not between {gpus * least * ATOM_BYTES} (every operand once) and "
            f"{gpus * most * ATOM_BYTES} (no reuse)"
        )


def _moved(size: np.ndarray, how: Reduction) -> np.ndarray:
    """Atoms by category of the GPU whose own chunk has ``size[0]`` atoms; the chunks follow in the
    order in which it produces them, so it sends ``size[1]`` first."""
    whole, own, first, last = size.sum(), size[0], size[1], size[-1]
    gather = [whole - last, whole - own, whole - last] if how.gather else [0, 0, 0]
    if how.tracked:
        # The first chunk is stored remotely; without the GEMM it is read for that.
        write = whole - first if how.gemm else 0
        read = whole - own - (first if how.gemm else 0)
        return np.array([write, read, whole - first, *gather[:2], whole - own, gather[2]])
    # Of the first chunk one operand is read, of all others two. What comes in goes to the staging
    # buffer: all but the sender's own chunk, which is our first; then the result is written.
    read = first + 2 * (whole - first)
    return np.array([whole, read, whole - first + own, *gather[:2], whole - own, gather[2]])


def _operand_reads(state: State) -> tuple[int, int]:
    """Fewest and most atoms that the GEMM reads from the simulated channels' memory."""
    output_atoms = np.array([bin(mask).count("1") for mask in range(16)])[state.line_request_mask]
    per_tile = np.add.reduceat(
        np.append(output_atoms, 0), np.minimum(state.line_request_start[:, 0], len(output_atoms))
    )
    per_tile[state.line_request_start[:, 0] == state.line_request_start[:, -1]] = 0
    rows = int(state.tile_row.max()) + 1
    uses = np.concatenate(
        [
            np.bincount(state.tile_row, minlength=rows),
            np.bincount(state.tile_column, minlength=len(per_tile) - rows),
        ]
    )
    # Lines of neighbouring steps may share an atom.
    line = (state.line_request_channel << 48) | state.line_request_line << 2
    distinct = np.unique(
        np.concatenate([(line + s)[state.line_request_mask >> s & 1 == 1] for s in range(4)])
    )
    return len(distinct), int((per_tile * uses).sum())
