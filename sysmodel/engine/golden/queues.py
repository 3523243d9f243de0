"""A channel's queues: levels and heads of all of them in two words, four bits for each queue.

A stage looks at the levels of the cycle's start and says what it popped and pushed; the channel
adds that up at the cycle's end. So the order in which the stages are computed does not matter.
"""

from collections import namedtuple

from sysmodel.lib.compiled import inlined

__all__ = [
    "BODY_WORDS",
    "D",
    "Q",
    "RECORD_WORDS",
    "back",
    "commit",
    "copy_words",
    "front",
    "has",
    "mark",
    "natural",
    "pick",
    "record",
    "room",
    "waiting",
]

_DEPTHS = {
    "reads": 4,
    "stores": 4,
    "classified": 2,
    "writes": 4,
    "remote": 4,
    "ends": 2,
    "link": 2,
    "inbound": 4,
    "updates": 8,
    "dma_reads": 2,
    "sends": 4,
    "issue": 2,
    "issue_acks": 8,
    "segments": 4,
    "candidates": 2,
}
Q = namedtuple("Queues", _DEPTHS)(*range(len(_DEPTHS)))
D = namedtuple("Depths", _DEPTHS)(*_DEPTHS.values())

# Every queue is a ring of 8 records of 16 words, whatever its depth.
RECORD_WORDS = 16
_RING_WORDS = 8 * RECORD_WORDS
_HEADS = sum(7 << (4 * queue) for queue in Q)
BODY_WORDS = len(Q) * _RING_WORDS


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
def record(body, heads, queue, position):
    """Where the record at this position is; the oldest one is at 0."""
    slot = ((heads >> (4 * queue)) + position) & 7
    return body + queue * _RING_WORDS + slot * RECORD_WORDS


@inlined
def front(body, heads, queue):
    """Where the oldest record is."""
    return record(body, heads, queue, 0)


@inlined
def back(body, levels, heads, queue):
    """Where the next record goes."""
    return record(body, heads, queue, levels >> (4 * queue))


@inlined
def commit(levels, heads, popped, pushed):
    """Levels and heads of the next cycle."""
    return levels + pushed - popped, (heads + popped) & _HEADS


@inlined
def copy_words(target, to, source, at, words):
    for word in range(words):
        target[to + word] = source[at + word]


@inlined
def pick(a, b, last):
    """``rr(a, b)``: 0 for the first, 1 for the second, -1 if neither is valid."""
    if a and b:
        return 1 - last
    if a:
        return 0
    return 1 if b else -1
