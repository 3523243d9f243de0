"""A binary heap of (time, code) pairs in an array, for the few events that do not happen every
cycle."""

from .compiled import compiled

__all__ = ["CODE_BITS", "heap_pop", "heap_push"]

CODE_BITS = 24


@compiled
def heap_push(heap, size, g, time, code):
    """Add an event to row ``g``; equal times leave in the order of their codes."""
    i = size[g]
    size[g] = i + 1
    key = (time << CODE_BITS) | code
    while i > 0:
        parent = (i - 1) >> 1
        if heap[g, parent] <= key:
            break
        heap[g, i] = heap[g, parent]
        i = parent
    heap[g, i] = key


@compiled
def heap_pop(heap, size, g):
    """Remove the earliest event of row ``g`` and return its code."""
    code = heap[g, 0] & ((1 << CODE_BITS) - 1)
    last = size[g] - 1
    size[g] = last
    key = heap[g, last]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and heap[g, child + 1] < heap[g, child]:
            child += 1
        if heap[g, child] >= key:
            break
        heap[g, i] = heap[g, child]
        i = child
    heap[g, i] = key
    return code
