"""Registry of all kinds of faults."""

from collections.abc import Sequence

from . import context_kinds, link_kinds, memory_kinds, ring_kinds
from .outcome import Kind

__all__ = ["KINDS", "contexts_needed", "needs_endpoint"]

KINDS: tuple[Kind, ...] = (
    *memory_kinds.KINDS,
    *ring_kinds.KINDS,
    *context_kinds.KINDS,
    *link_kinds.KINDS,
)


def needs_endpoint(kinds: Sequence[Kind]) -> bool:
    """Return True if one of the kinds needs a link endpoint."""
    return any(kind in link_kinds.KINDS for kind in kinds)


def contexts_needed(kinds: Sequence[Kind]) -> tuple[int, ...]:
    """List the numbers of contexts of the GPUs that the kinds need."""
    of_one = (*memory_kinds.KINDS, *ring_kinds.KINDS)
    needed = {1: of_one, context_kinds.CONTEXTS: context_kinds.KINDS}
    return tuple(contexts for contexts, of in needed.items() if any(kind in of for kind in kinds))
