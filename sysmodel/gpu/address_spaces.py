"""Address spaces of the stores: of GEMMs by their context, of collectives, and of plain stores."""

from sysmodel.lib.compiled import inlined

__all__ = [
    "COLLECTIVE_RANK",
    "CONTEXT_COLLECTIVE",
    "CONTEXT_GEMM",
    "CONTEXT_NONE",
    "context_of_space",
    "gemm_space",
]

CONTEXT_NONE, CONTEXT_GEMM, CONTEXT_COLLECTIVE = 0, 1, 2
COLLECTIVE_RANK = 0  # that stores of collectives carry, of any GPU


@inlined
def gemm_space(context: int) -> int:
    """Address space of a context's GEMM: odd, in contrast to the address spaces of collectives."""
    return CONTEXT_GEMM + 2 * context


@inlined
def context_of_space(space: int) -> int:
    """Context of a GEMM's address space."""
    return (space - CONTEXT_GEMM) >> 1
