"""Kernels of today's software overlap, which compute a product and communicate it themselves."""

from .schema import Strict, integer, number

__all__ = ["Fused"]


class Fused(Strict):
    """GEMM whose epilogue stores each tile into the memory of the tile's owner, and the kernel that
    adds the contributions there.

    ``sum_compute_units`` of that kernel are at most the GPU's; 0 stands for all. ``flag_ns`` passes
    from the last store of a GPU until another GPU has seen its flag. ``stores_payload_share`` is
    the share of the line rate that is payload in the stores of the epilogue.
    """

    sum_compute_units: int = integer(0, 1024)
    flag_ns: float = number(0, 1e6)
    stores_payload_share: float = number(0.01, 1)
