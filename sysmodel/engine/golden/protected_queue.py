"""Protected queue: a queue in a memory with check bits, the output register of the memory, and two
places behind it for checked words.
"""

from sysmodel.lib.compiled import inlined

from .index import natural
from .records import Record, Words, record

__all__ = [
    "PROTECTED_QUEUE",
    "RING",
    "can_push",
    "check_leaving",
    "is_empty",
    "leaving",
    "note_bit_errors",
    "oldest",
    "push_at",
    "step_queue",
]

PROTECTED_QUEUE = record("head inner read checked has_bit_errors")
"""Position of the oldest record, number of records in each part, and flag that a word ever had bit
errors.
"""
RING = 2
"""Records of the circular buffer, as a multiple of the memory's depth: all parts use one buffer."""
_CHECKED = 2


@inlined
def can_push(queue: Record, depth: int) -> bool:
    """Return whether the memory has space; the output register uses one of its rows."""
    return queue.inner < depth - 1


@inlined
def is_empty(queue: Record) -> bool:
    """Return whether no part of the queue holds a record."""
    return queue.inner + queue.read + queue.checked == 0


@inlined
def oldest(queue: Record) -> int:
    """Return the index of the record that leaves next."""
    return natural(queue.head)


@inlined
def push_at(queue: Record, depth: int) -> int:
    """Return the index of the next record to be pushed."""
    waiting = queue.inner + queue.read + queue.checked
    return natural((queue.head + waiting) & (RING * depth - 1))


@inlined
def leaving(queue: Record, depth: int) -> int:
    """Return the index of the record that leaves the memory in this cycle, or -1."""
    if queue.read and queue.checked < _CHECKED:
        return natural((queue.head + queue.checked) & (RING * depth - 1))
    return -1


@inlined
def note_bit_errors(queue: Record, errors: Words, at: int, bits: int) -> None:
    """Record the bit errors of a word that is pushed."""
    if bits | queue.has_bit_errors:
        errors[at] = bits
        queue.has_bit_errors = 1


@inlined
def check_leaving(queue: Record, errors: Words, depth: int) -> tuple[int, int]:
    """Check the word that leaves the memory in this cycle.

    Returns
    -------
    at, bits : int
        Index of the record, and the word's bit errors; 0 without bit errors.
    """
    if queue.has_bit_errors:
        at = leaving(queue, depth)
        if at >= 0:
            bits = errors[at]
            errors[at] = 0
            return at, bits
    return 0, 0


@inlined
def step_queue(queue: Record, depth: int, pushed: bool, popped: bool, lost: bool) -> bool:
    """Advance the queue by one cycle. A record that is pushed into an empty queue is visible, as
    ``checked``, three cycles later.

    The memory's rows alternate between two halves with one port each: a push and a read use the
    same half if an even number of records waits.

    If the word that leaves the memory is lost, the caller moves the preceding record to the place
    of the lost record in the buffer.

    Returns
    -------
    bool
        A register of the queue changes.
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
