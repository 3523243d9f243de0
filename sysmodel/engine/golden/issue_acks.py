"""A channel's acknowledgements: a buffer, and behind it a queue that makes one event of a tile's
updates."""

from sysmodel.lib.compiled import inlined

from .protected_queue import can_push, is_empty, oldest, push_at, step_queue
from .queues import D, Q, back, mark, position, room, waiting
from .state import ISSUE_ACK_BUFFER

__all__ = ["has_room", "take_issue_ack"]

_MOST = 15  # updates in one event


@inlined
def has_room(channel):
    """Whether the channel takes an issue acknowledgement."""
    return can_push(channel.waiting, ISSUE_ACK_BUFFER)


@inlined
def take_issue_ack(channel, levels, heads, given, atom, owner, dispatch_index, wavefront):
    """One cycle of the buffer and of the queue's end, `given` an update's acknowledgement or not.

    Returns
    -------
    int
        Mark of the queue if a new event was pushed, or 0.
    """
    queue = channel.waiting
    takes = room(levels, Q.issue_acks, D.issue_acks)
    if is_empty(queue):
        if not given:
            return 0
        if takes:
            return _join(channel, levels, heads, atom, owner, dispatch_index, wavefront)
    if given:
        to = channel.waiting_acks[push_at(queue, ISSUE_ACK_BUFFER)]
        to.atom = atom
        to.owner = owner
        to.dispatch_index = dispatch_index
        to.wavefront = wavefront
    pushed = 0
    leaves = takes and queue.checked > 0
    if leaves:
        first = channel.waiting_acks[oldest(queue)]
        pushed = _join(
            channel,
            levels,
            heads,
            first.atom,
            first.owner,
            first.dispatch_index,
            first.wavefront,
        )
    step_queue(queue, ISSUE_ACK_BUFFER, given, leaves)
    return pushed


@inlined
def _join(channel, levels, heads, atom, owner, dispatch_index, wavefront):
    """Put one update into the queue, which has room.

    It joins its tile's event if one waits behind the head. The head stays as it is, because the
    tracker may take it in this cycle.
    """
    for index in range(1, waiting(levels, Q.issue_acks)):
        event = channel.issue_acks[position(heads, Q.issue_acks, index)]
        if (
            event.owner == owner
            and event.dispatch_index == dispatch_index
            and event.wavefront == wavefront
            and event.count < _MOST
        ):
            event.count += 1
            event.atom = min(event.atom, atom)
            return 0
    to = channel.issue_acks[back(levels, heads, Q.issue_acks)]
    to.atom = atom
    to.owner = owner
    to.dispatch_index = dispatch_index
    to.wavefront = wavefront
    to.count = 1
    return mark(Q.issue_acks)
