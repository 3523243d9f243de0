"""All kinds of faults."""

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
    """Whether a link endpoint is needed for some of them."""
    return any(kind in link_kinds.KINDS for kind in kinds)


def contexts_needed(kinds: Sequence[Kind]) -> tuple[int, ...]:
    """Of the whole GPUs that are needed for some of them: how many contexts they have."""
    of_one = (*memory_kinds.KINDS, *ring_kinds.KINDS)
    needed = {1: of_one, context_kinds.CONTEXTS: context_kinds.KINDS}
    return tuple(contexts for contexts, of in needed.items() if any(kind in of for kind in kinds))
