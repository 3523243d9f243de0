"""A queue in a memory with check bits: memory, its output, and places for what is checked."""

from sysmodel.lib.compiled import inlined

from .queues import natural
from .records import record

__all__ = [
    "PROTECTED_QUEUE",
    "RING",
    "can_push",
    "is_empty",
    "leaving",
    "oldest",
    "push_at",
    "step_queue",
]

PROTECTED_QUEUE = record("head inner read checked has_wrong")
"""Its state: position of the oldest; how many wait in each part; whether a word had wrong bits."""
RING = 2
"""Records of its ring, as a multiple of the memory's depth: all parts use it."""
_CHECKED = 2


@inlined
def can_push(queue, depth):
    """Whether the memory has room; its output is a register, so it has one entry less."""
    return queue.inner < depth - 1


@inlined
def is_empty(queue):
    return queue.inner + queue.read + queue.checked == 0


@inlined
def oldest(queue):
    """Index of the record that leaves next."""
    return natural(queue.head)


@inlined
def push_at(queue, depth):
    """Index of the record that comes next."""
    waiting = queue.inner + queue.read + queue.checked
    return natural((queue.head + waiting) & (RING * depth - 1))


@inlined
def leaving(queue, depth):
    """Index of the record that leaves the memory in this cycle, or -1."""
    if queue.read and queue.checked < _CHECKED:
        return natural((queue.head + queue.checked) & (RING * depth - 1))
    return -1


@inlined
def step_queue(queue, depth, pushed, popped, lost):
    """One cycle. What is pushed into an empty queue is visible, as ``checked``, three cycles later.

    The memory's rows are in two halves by turns, each with one port: what is pushed and what would
    be read are in the same one if an even number waits.

    If what leaves the memory is lost, the one before it must have taken its place in the ring.
    Gives whether the queue is awake.
    """
    inner, read = queue.inner, queue.read
    moves = read and queue.checked < _CHECKED
    collides = pushed and inner & 1 == 0
    loads = inner > 0 and (not read or moves) and not collides
    queue.inner = inner + pushed - loads
    queue.read = loads or (read and not moves)
    queue.checked += moves - popped - lost
    if popped | lost:
        queue.head = (queue.head + popped + lost) & (RING * depth - 1)
    return pushed or loads or moves or popped
