"""A channel's queues: levels and heads of all of them in two words, four bits for each queue.

A stage looks at the levels of the cycle's start and says what it popped and pushed; the channel
adds that up at the cycle's end. So the order in which the stages are computed does not matter.
"""

from collections import namedtuple

from sysmodel.lib.compiled import inlined

from .layouts import (
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

__all__ = [
    "RINGS",
    "D",
    "Q",
    "back",
    "commit",
    "front",
    "has",
    "mark",
    "natural",
    "pick",
    "position",
    "room",
    "waiting",
]

# Depth and record of each.
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
Q = namedtuple("Queues", _QUEUES)(*range(len(_QUEUES)))
D = namedtuple("Depths", _QUEUES)(*(depth for depth, _ in _QUEUES.values()))

# Every queue is a ring of 8 records, whatever its depth.
_RING = 8
_HEADS = sum((_RING - 1) << (4 * queue) for queue in Q)
RINGS = [(name, record, (_RING,)) for name, (_, record) in _QUEUES.items()]
"""Fields of the channel's record that hold the queues' records."""


@inlined
def natural(index):
    """The same index, known not to be negative: otherwise Numba tests it at every access."""
    return index & 0x7FFFFFFF


@inlined
def mark(queue):
    """The word that says "one" for this queue and nothing for the others."""
    return 1 << (4 * queue)


@inlined
def waiting(levels, queue):
    """How many records the queue has."""
    return (levels >> (4 * queue)) & 15


@inlined
def has(levels, queue):
    return waiting(levels, queue) != 0


@inlined
def room(levels, queue, depth):
    return waiting(levels, queue) < depth


@inlined
def position(heads, queue, index):
    """Where in its ring the record at this index is; the oldest one is at 0."""
    return ((heads >> (4 * queue)) + index) & (_RING - 1)


@inlined
def front(heads, queue):
    """Where the oldest record is."""
    return position(heads, queue, 0)


@inlined
def back(levels, heads, queue):
    """Where the next record goes."""
    return position(heads, queue, levels >> (4 * queue))


@inlined
def commit(levels, heads, popped, pushed):
    """Levels and heads of the next cycle."""
    return levels + pushed - popped, (heads + popped) & _HEADS


@inlined
def pick(a, b, last):
    """``rr(a, b)``: 0 for the first, 1 for the second, -1 if neither is valid."""
    if a and b:
        return 1 - last
    if a:
        return 0
    return 1 if b else -1
