"""Event queue of a GPU: a binary heap of (time, code) for events that do not occur every cycle."""

import numpy as np

from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER

__all__ = [
    "DATA",
    "DONE",
    "EPILOGUE",
    "LAUNCHED",
    "READY",
    "STORE",
    "heap_pop",
    "heap_push",
    "latest_event",
    "next_event",
]

LAUNCHED, DATA, READY, DONE, STORE, EPILOGUE = range(6)  # event kinds, in the low bits of a code

_CODE_BITS = 24


@compiled
def heap_push(gpu, time, code):
    """Add an event; events of equal time leave in the order of their codes."""
    heap = gpu.heap
    i = gpu.heap_size
    gpu.heap_size += 1
    key = (np.int64(time) << _CODE_BITS) | code
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent] <= key:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = key


def latest_event(gpu: np.void) -> int:
    """Time of the latest event, or -1 without an event."""
    events = gpu["heap"][: gpu["heap_size"]]
    return int(events.max(initial=-1)) >> _CODE_BITS


@inlined
def next_event(gpu):
    """Time of the earliest event."""
    return gpu.heap[0] >> _CODE_BITS if gpu.heap_size > 0 else NEVER


@compiled
def heap_pop(gpu):
    """Remove the earliest event and return its code."""
    heap = gpu.heap
    code = heap[0] & ((1 << _CODE_BITS) - 1)
    last = gpu.heap_size - 1
    gpu.heap_size = last
    key = heap[last]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = key
    return code
