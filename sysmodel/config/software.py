"""Costs of software that overlaps a GEMM with collectives, beyond those of kernels and links."""

from .schema import Strict, number

__all__ = ["Chunked", "CopyEngine"]


class CopyEngine(Strict):
    """Copy engines of a GPU, which send data to other GPUs without compute units.

    ``payload_share`` is the share of the line rate that is payload in their packets. A copy begins
    to use the link ``copy_ns`` after what it waits for; copies in a row hide these times.
    """

    payload_share: float = number(0.01, 1)
    copy_ns: float = number(0, 1e6)


class Chunked(Strict):
    """GEMMs that software cuts into pieces, each of which is a kernel.

    ``piece_ns`` passes between the end of a piece and the first workgroup of the next one: for its
    launch, as far as that is not hidden, and for synchronisation.
    """

    piece_ns: float = number(0, 1e6)
