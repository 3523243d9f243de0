"""A channel's acknowledgements: a buffer, and behind it a queue that makes one event of a tile's
updates."""

from sysmodel.lib.compiled import inlined

from .protected_queue import RING, can_push, is_empty, oldest, push_at, step_queue
from .queues import D, Q, back, mark, natural, record, room, waiting
from .state import ISSUE_ACK, ISSUE_ACK_BUFFER, UPDATES, C, K

__all__ = ["has_room", "take_issue_ack"]

_MOST = 15  # updates in one event


@inlined
def has_room(channel, k):
    """Whether the channel at word `k` takes an issue acknowledgement."""
    return can_push(channel, k + K.waiting_head, ISSUE_ACK_BUFFER)


@inlined
def _at(s, number, index):
    return natural(
        s.config[C.at_issue_acks] + (number * RING * ISSUE_ACK_BUFFER + index) * len(ISSUE_ACK)
    )


@inlined
def take_issue_ack(s, number, k, levels, heads, given, atom, dispatch_index, wavefront):
    """One cycle of the buffer and of the queue's end, `given` an update's acknowledgement or not.

    Returns
    -------
    int
        Mark of the queue if a new event was pushed, or 0.
    """
    channel, queue = s.channels, natural(k + K.waiting_head)
    takes = room(levels, Q.issue_acks, D.issue_acks)
    if is_empty(channel, queue):
        if not given:
            return 0
        if takes:
            return _join(channel, k + K.body, levels, heads, atom, dispatch_index, wavefront)
    if given:
        to = _at(s, number, push_at(channel, queue, ISSUE_ACK_BUFFER))
        s.memory[to + ISSUE_ACK.atom] = atom
        s.memory[to + ISSUE_ACK.dispatch_index] = dispatch_index
        s.memory[to + ISSUE_ACK.wavefront] = wavefront
    pushed = 0
    leaves = takes and channel[k + K.waiting_checked] > 0
    if leaves:
        first = _at(s, number, oldest(channel, queue))
        pushed = _join(
            channel,
            k + K.body,
            levels,
            heads,
            s.memory[first + ISSUE_ACK.atom],
            s.memory[first + ISSUE_ACK.dispatch_index],
            s.memory[first + ISSUE_ACK.wavefront],
        )
    step_queue(channel, queue, ISSUE_ACK_BUFFER, given, leaves)
    return pushed


@inlined
def _join(channel, body, levels, heads, atom, dispatch_index, wavefront):
    """Put one update into the queue, which has room.

    It joins its tile's event if one waits behind the head. The head stays as it is, because the
    tracker may take it in this cycle.
    """
    for position in range(1, waiting(levels, Q.issue_acks)):
        at = record(body, heads, Q.issue_acks, position)
        if (
            channel[at + UPDATES.dispatch_index] == dispatch_index
            and channel[at + UPDATES.wavefront] == wavefront
            and channel[at + UPDATES.count] < _MOST
        ):
            channel[at + UPDATES.count] += 1
            channel[at + UPDATES.atom] = min(channel[at + UPDATES.atom], atom)
            return 0
    to = back(body, levels, heads, Q.issue_acks)
    channel[to + UPDATES.atom] = atom
    channel[to + UPDATES.dispatch_index] = dispatch_index
    channel[to + UPDATES.wavefront] = wavefront
    channel[to + UPDATES.count] = 1
    return mark(Q.issue_acks)
