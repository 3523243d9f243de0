"""Queues of a channel: levels and heads of all of them in two words, four bits for each queue.

A stage reads the levels at the start of the cycle and returns the queues that it pops and pushes;
the channel applies them at the end of the cycle. The order in which the stages are computed
therefore does not matter.
"""

from sysmodel.lib.compiled import inlined

from ..constants import constants
from ..payloads.layouts import (
    CANDIDATE,
    CLASSIFIED,
    DRAM_REQUEST,
    LINK_PACKET,
    LOCATED_PACKET,
    LOCATED_STORE,
    READ,
    TILE,
    UPDATES,
)
from ..records import Record

__all__ = [
    "QUEUE_WORDS",
    "RINGS",
    "D",
    "Q",
    "back",
    "begin_queues",
    "commit",
    "end_queues",
    "front",
    "has",
    "has_space",
    "mark",
    "position",
    "pop_at_front",
    "push_at_front",
    "waiting",
]

# Depth and record of each queue.
_QUEUES = {
    "reads": (2, READ),
    "stores": (2, LOCATED_STORE),
    "classified": (2, CLASSIFIED),
    "writes": (2, DRAM_REQUEST),
    "ends": (2, TILE),
    "link": (2, LINK_PACKET),
    "inbound": (2, LOCATED_PACKET),
    "updates": (2, DRAM_REQUEST),
    "issue": (2, DRAM_REQUEST),
    "issue_acks": (8, UPDATES),
    "candidates": (2, CANDIDATE),
}
Q = constants("Queues", {name: number for number, name in enumerate(_QUEUES)})
"""Number of each queue."""
D = constants("Depths", {name: depth for name, (depth, _) in _QUEUES.items()})
"""Depth of each queue."""

# Every queue is a circular buffer of 8 records, whatever its depth.
_RING = 8
_HEADS = sum((_RING - 1) << (4 * queue) for queue in Q)
RINGS = [(name, record, (_RING,)) for name, (_, record) in _QUEUES.items()]
"""Fields of the channel's record that hold the queues' records."""
QUEUE_WORDS = "queued heads popped pushed"
"""Fields of the channel's record: levels, heads, and the pops and pushes of the tracker's front."""


@inlined
def mark(queue: int) -> int:
    """Return the word with a one for this queue, and zero for the others."""
    return 1 << (4 * queue)


@inlined
def waiting(queued: int, queue: int) -> int:
    """Return the number of records in the queue."""
    return (queued >> (4 * queue)) & 15


@inlined
def has(queued: int, queue: int) -> bool:
    """Return whether the queue holds a record."""
    return waiting(queued, queue) != 0


@inlined
def has_space(queued: int, queue: int, depth: int) -> bool:
    """Return whether the queue has space for a record."""
    return waiting(queued, queue) < depth


@inlined
def position(heads: int, queue: int, index: int) -> int:
    """Return the position of a record in the buffer of its queue; the oldest has index 0."""
    return ((heads >> (4 * queue)) + index) & (_RING - 1)


@inlined
def front(heads: int, queue: int) -> int:
    """Return the position of the oldest record."""
    return position(heads, queue, 0)


@inlined
def back(queued: int, heads: int, queue: int) -> int:
    """Return the position of the next record."""
    return position(heads, queue, queued >> (4 * queue))


@inlined
def commit(queued: int, heads: int, popped: int, pushed: int) -> tuple[int, int]:
    """Return levels and heads of the next cycle."""
    return queued + pushed - popped, (heads + popped) & _HEADS


@inlined
def pop_at_front(channel: Record, queue: int) -> None:
    """Pop a queue of the channel from the tracker's front."""
    channel.popped += mark(queue)


@inlined
def push_at_front(channel: Record, queue: int) -> None:
    """Push a queue of the channel from the tracker's front."""
    channel.pushed += mark(queue)


@inlined
def begin_queues(channel: Record) -> tuple[int, int]:
    """Return the queues that the tracker's front popped and pushed in this cycle."""
    popped, pushed = channel.popped, channel.pushed
    channel.popped = channel.pushed = 0
    return popped, pushed


@inlined
def end_queues(channel: Record, popped: int, pushed: int) -> None:
    """Advance all queues of the channel by one cycle."""
    channel.queued, channel.heads = commit(channel.queued, channel.heads, popped, pushed)
