"""A queue in a memory with check bits: memory, its output, and places for what is checked."""

from collections import namedtuple

from sysmodel.lib.compiled import inlined

from .queues import natural

__all__ = ["FIELDS", "RING", "can_push", "is_empty", "oldest", "push_at", "step_queue"]

FIELDS = ("head", "inner", "read", "checked")
"""Columns of its state: position of the oldest; how many wait in each part."""
RING = 2
"""Records of its ring, as a multiple of the memory's depth: all parts use it."""
_CHECKED = 2
_F = namedtuple("Fields", FIELDS)(*range(len(FIELDS)))


@inlined
def can_push(words, at, depth):
    """Whether the memory has room; its output is a register, so it has one entry less."""
    return words[at + _F.inner] < depth - 1


@inlined
def is_empty(words, at):
    return words[at + _F.inner] + words[at + _F.read] + words[at + _F.checked] == 0


@inlined
def oldest(words, at):
    """Index of the record that leaves next."""
    return natural(words[at + _F.head])


@inlined
def push_at(words, at, depth):
    """Index of the record that comes next."""
    waiting = words[at + _F.inner] + words[at + _F.read] + words[at + _F.checked]
    return natural((words[at + _F.head] + waiting) & (RING * depth - 1))


@inlined
def step_queue(words, at, depth, pushed, popped):
    """One cycle. What is pushed is visible, as ``checked``, three cycles later."""
    inner, read = words[at + _F.inner], words[at + _F.read]
    moves = read and words[at + _F.checked] < _CHECKED
    loads = inner > 0 and (not read or moves)
    words[at + _F.inner] = inner + pushed - loads
    words[at + _F.read] = loads or (read and not moves)
    words[at + _F.checked] += moves - popped
    if popped:
        words[at + _F.head] = (words[at + _F.head] + 1) & (RING * depth - 1)
