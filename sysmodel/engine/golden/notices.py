"""A channel's notices: a buffer, and behind it a queue that makes one event of a tile's updates."""

from sysmodel.lib.compiled import inlined

from .protected_queue import RING, can_push, is_empty, oldest, push_at, step_queue
from .queues import D, Q, back, mark, natural, record, room, waiting
from .state import NOTICE, NOTICE_BUFFER, UPDATES, C, K

__all__ = ["has_room", "take_notice"]

_MOST = 15  # updates in one event


@inlined
def has_room(channel, k):
    """Whether the channel at word `k` takes a notice."""
    return can_push(channel, k + K.waiting_head, NOTICE_BUFFER)


@inlined
def _at(s, number, index):
    return natural(s.config[C.at_notices] + (number * RING * NOTICE_BUFFER + index) * len(NOTICE))


@inlined
def take_notice(s, number, k, levels, heads, given, atom, place, wavefront):
    """One cycle of the buffer and of the queue's end, `given` an update's notice or not.

    Returns
    -------
    int
        Mark of the queue if a new event was pushed, or 0.
    """
    channel, queue = s.channels, natural(k + K.waiting_head)
    takes = room(levels, Q.notices, D.notices)
    if is_empty(channel, queue):
        if not given:
            return 0
        if takes:
            return _join(channel, k + K.body, levels, heads, atom, place, wavefront)
    if given:
        to = _at(s, number, push_at(channel, queue, NOTICE_BUFFER))
        s.memory[to + NOTICE.atom] = atom
        s.memory[to + NOTICE.place] = place
        s.memory[to + NOTICE.wavefront] = wavefront
    pushed = 0
    leaves = takes and channel[k + K.waiting_checked] > 0
    if leaves:
        first = _at(s, number, oldest(channel, queue))
        pushed = _join(
            channel,
            k + K.body,
            levels,
            heads,
            s.memory[first + NOTICE.atom],
            s.memory[first + NOTICE.place],
            s.memory[first + NOTICE.wavefront],
        )
    step_queue(channel, queue, NOTICE_BUFFER, given, leaves)
    return pushed


@inlined
def _join(channel, body, levels, heads, atom, place, wavefront):
    """Put one update into the queue, which has room.

    It joins its tile's event if one waits behind the head. The head stays as it is, because the
    tracker may take it in this cycle.
    """
    for position in range(1, waiting(levels, Q.notices)):
        at = record(body, heads, Q.notices, position)
        if (
            channel[at + UPDATES.place] == place
            and channel[at + UPDATES.wavefront] == wavefront
            and channel[at + UPDATES.count] < _MOST
        ):
            channel[at + UPDATES.count] += 1
            channel[at + UPDATES.atom] = min(channel[at + UPDATES.atom], atom)
            return 0
    to = back(body, levels, heads, Q.notices)
    channel[to + UPDATES.atom] = atom
    channel[to + UPDATES.place] = place
    channel[to + UPDATES.wavefront] = wavefront
    channel[to + UPDATES.count] = 1
    return mark(Q.notices)
