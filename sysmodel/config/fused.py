"""Kernels of today's software overlap, which compute a product and communicate it themselves."""

from .schema import Strict, integer, number

__all__ = ["Fused"]


class Fused(Strict):
    """GEMM whose epilogue stores each tile into the memory of the tile's owner, and the kernel that
    adds the contributions there.

    With ``staged_stores``, the epilogue leaves a tile in the GPU's cache, from which other warps
    send it; otherwise its sums stay in registers until the link has taken them.
    ``stores_payload_share`` is the share of the line rate that is payload in the tiles' packets.
    A CU sends at most ``cu_stores_gb_per_s`` to other GPUs.
    ``flag_ns`` passes from the last store of a GPU until another GPU has seen its flag. The sums
    run on ``sum_compute_units``, or on all CUs if that is 0, and use at most ``sum_memory_share``
    of the memory's rate. A GEMM whose tiles wait for chunks of an all-gather takes ``gather_ns``
    longer, beyond these waits.
    """

    staged_stores: bool
    sum_compute_units: int = integer(0, 1024)
    sum_memory_share: float = number(0.01, 1)
    flag_ns: float = number(0, 1e6)
    stores_payload_share: float = number(0.01, 1)
    cu_stores_gb_per_s: float = number(0.01, 1e5)
    gather_ns: float = number(0, 1e6)
