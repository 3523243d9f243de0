"""All kinds of faults."""

from collections.abc import Sequence

from . import link_kinds, memory_kinds, ring_kinds
from .outcome import Kind

__all__ = ["KINDS", "needs_endpoint", "needs_ring"]

KINDS: tuple[Kind, ...] = (*memory_kinds.KINDS, *ring_kinds.KINDS, *link_kinds.KINDS)


def needs_endpoint(kinds: Sequence[Kind]) -> bool:
    """Whether a link endpoint is needed for some of them."""
    return any(kind in link_kinds.KINDS for kind in kinds)


def needs_ring(kinds: Sequence[Kind]) -> bool:
    """Whether whole GPUs are needed for some of them."""
    return any(kind not in link_kinds.KINDS for kind in kinds)
