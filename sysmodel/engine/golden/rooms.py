"""Rooms: parts of the hardware, each awake in the cycles in which a clock may change something.

What wakes a room is in the function that does its work. Awake cycles are counted by kind of room:
channels, banks and contexts have the same rooms each. A channel notes its rooms in two words with a
field for each, which are added up until a field could be full.
"""

from collections import namedtuple

import numpy as np

from sysmodel.lib.compiled import compiled, inlined

from .queues import Q

__all__ = [
    "AWAKE",
    "COUNTING",
    "COUNTS",
    "KINDS",
    "MORE",
    "MARK",
    "ROOM",
    "UNIT",
    "add_channel",
    "add_units",
    "clocked_cycles",
    "wake",
]

# In the order of the queues' marks.
_QUEUES = [name for name in Q._fields if name != "candidates"]
_BESIDE = ("access_merge", "link_merge", "watch", "issue_ack_buffer", "stored_count")
_MORE = ("lane", "remote", "store_error", "packet_error", "issue_ack_error", "nmc")
_UNITS = ("trigger", "credit_window", "criticality", "outside_view", "engine")
_TRACKER = ("front", "merge", "bank")
_TOP = ("registers", "error_choice", "link_errors", "corrections", "patrols", "findings")
_OF_QUEUES, _OF_MORE, _OF_UNITS = (*_QUEUES, *_BESIDE), _MORE, (*_UNITS, "page")

KINDS = (
    *(f"channel.{name}" for name in (*_OF_QUEUES, *_OF_MORE)),
    *(f"context.{name}" for name in _UNITS),
    "registers.context",
    *(f"tracker.{name}" for name in _TRACKER),
    "registers.gpu",
    *_TOP,
)
"""Kinds of rooms, by the names of their modules in the hardware."""
ROOM = namedtuple("Room", (kind.replace(".", "_") for kind in KINDS))(*range(len(KINDS)))
"""Where each kind is counted."""

_QUEUE_BITS, _MORE_BITS = 4, 8  # of a field: up to 15 of a channel, and of each of its contexts
_MOST_ADDED = (1 << _QUEUE_BITS) - 1
MARK = namedtuple("Mark", _OF_QUEUES)(
    *(1 << (_QUEUE_BITS * field) for field in range(len(_OF_QUEUES)))
)
"""The mark of a room in a channel's word ``awake``; those of queues are as in their levels."""
MORE = namedtuple("More", _OF_MORE)(*(1 << (_MORE_BITS * field) for field in range(len(_OF_MORE))))
"""Likewise in its word ``awake_more``."""
UNIT = namedtuple("Unit", _OF_UNITS)(*(1 << field for field in range(len(_OF_UNITS))))
"""A bit for each room of a context in its word ``awake``."""

COUNTS = 1 << len(_OF_UNITS)
"""Likewise: the comparison of criticality only counts."""
AWAKE, COUNTING = 1, 2
"""In the GPU's word ``awake``: a room beside the channels is awake; one only because it counts."""

_FIRST_MORE, _FIRST_UNIT = len(_OF_QUEUES), len(_OF_QUEUES) + len(_OF_MORE)
_QUEUE_FIELDS, _MORE_FIELDS, _UNIT_FIELDS = map(len, (_OF_QUEUES, _OF_MORE, _OF_UNITS))


@inlined
def wake(s, room):
    """A room is awake in this cycle."""
    s.clocked[room] += 1
    s.gpu.awake |= AWAKE


@compiled
def _unpack(s):
    gpu = s.gpu
    for field in range(_QUEUE_FIELDS):
        s.clocked[field] += gpu.added_queues >> (_QUEUE_BITS * field) & _MOST_ADDED
    for field in range(_MORE_FIELDS):
        room = _FIRST_MORE + field
        s.clocked[room] += gpu.added_more >> (_MORE_BITS * field) & ((1 << _MORE_BITS) - 1)
    gpu.added = gpu.added_queues = gpu.added_more = 0


@inlined
def add_channel(s, channel):
    """Count a channel's rooms of this cycle; gives whether one is awake."""
    gpu = s.gpu
    if not channel.awake | channel.awake_more:
        return False
    gpu.added_queues += channel.awake
    gpu.added_more += channel.awake_more
    gpu.added += 1
    if gpu.added == _MOST_ADDED:
        _unpack(s)
    return True


@inlined
def add_units(s, context):
    """Count a context's rooms of this cycle."""
    own = s.contexts[context]
    if own.awake == COUNTS:
        s.clocked[ROOM.context_criticality] += 1
        s.gpu.awake |= COUNTING
    elif own.awake:
        if own.awake & COUNTS:
            own.awake |= UNIT.criticality
        for field in range(_UNIT_FIELDS):
            s.clocked[_FIRST_UNIT + field] += own.awake >> field & 1
        s.gpu.awake |= AWAKE
    own.awake = 0


def clocked_cycles(s) -> np.ndarray:
    """Cycles since reset in which rooms were awake, of all rooms of each kind."""
    _unpack(s)
    return np.array(s.clocked)
