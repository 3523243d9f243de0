"""Event model of a GEMM in pieces whose chunks copy engines scatter or gather.

Left out is what the parts do to each other: copies and GEMMs contend for the memory and for the L2
on a real GPU, and copies of one GPU wait for late GPUs. Times are therefore lower than they can be,
which favours the software.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .copies import Copies

__all__ = ["Scattered", "cut_behind", "scattered", "whole_behind"]


class Scattered(NamedTuple):
    """Times of a GEMM in pieces with its reduce-scatter.

    Parameters
    ----------
    gemm_ns : float
        End of the last piece.
    copied_ns : float
        Begin of the first copy, when its piece has ended.
    reduced_ns : float
        End of the addition.
    """

    gemm_ns: float
    copied_ns: float
    reduced_ns: float


def scattered(
    copies: Copies,
    gpus: int,
    begin_ns: float,
    *,
    piece_ns: float,
    chunk_bytes: float,
    addition_ns: float,
    arrivals_ns: Sequence[float] = (),
) -> Scattered:
    """Compute a piece for each other GPU, then the own one; copy each while the next is computed;
    then add what has arrived.

    Parameters
    ----------
    piece_ns : float
        Time from the start of a piece to the start of the next one.
    addition_ns : float
        Time of the kernel that adds the pieces of all GPUs.
    arrivals_ns : sequence of float
        Arrivals of chunks that the pieces need, the own first; the pieces follow in this order.
    """
    others = range(1, gpus)
    # The chunk that comes from the GPU at a distance below goes to the owner that far below.
    distances = [0, *reversed(others)] if arrivals_ns else [*others, 0]
    end_ns, copied_ns, arrived_ns = begin_ns, [], []
    for distance, ready_ns in zip(distances, arrivals_ns or [begin_ns] * gpus, strict=True):
        end_ns = max(end_ns, ready_ns) + piece_ns
        if distance:
            copied_ns.append(end_ns)
            arrived_ns.append(copies.send(distance, chunk_bytes, end_ns))
    return Scattered(end_ns, copied_ns[0], max(end_ns, *arrived_ns) + addition_ns)


def cut_behind(arrivals_ns: Sequence[float], piece_ns: float) -> float:
    """End of a GEMM in pieces, each of which needs one of the chunks that arrive at some times."""
    end_ns = 0.0
    for arrival_ns in arrivals_ns:
        end_ns = max(end_ns, arrival_ns) + piece_ns
    return end_ns


def whole_behind(arrivals_ns: Sequence[float], gemm_ns: float, flag_ns: float) -> float:
    """End of one GEMM whose tiles wait for the flag of their chunk.

    Its tiles are in the order of the arrivals. Whatever the GPU has done before, the tiles of a
    chunk and of all later ones follow the arrival. A flag is seen ``flag_ns`` after it is set.

    Parameters
    ----------
    arrivals_ns : sequence of float
        Arrival of each chunk, the own first; the GEMM begins at the own one's.
    gemm_ns : float
        Time of the GEMM alone, with its launch.
    """
    count = len(arrivals_ns)
    ends_ns = (
        arrival_ns + (count - number) / count * gemm_ns
        for number, arrival_ns in enumerate(arrivals_ns)
    )
    return max(ends_ns) + flag_ns
