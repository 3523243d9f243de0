"""A channel's acknowledgements: a buffer, and behind it a queue that makes one event of a tile's
updates."""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import inlined

from .errors import error
from .injection import CORRECTED, ISSUE_ACKS, LOST, wrong_bits
from .protected_queue import can_push, is_empty, leaving, oldest, push_at, step_queue
from .queues import D, Q, back, mark, natural, position, room, waiting
from .records import copy_record
from .rooms import MARK
from .state import ISSUE_ACK_BUFFER
from .watch import note_ended

__all__ = ["has_room", "take_issue_ack"]

_MOST = 15  # updates in one event
_CORRUPT = ErrorCode.TRACKER_CORRUPT.value


@inlined
def has_room(channel):
    """Whether the channel takes an issue acknowledgement."""
    return can_push(channel.waiting, ISSUE_ACK_BUFFER)


@inlined
def take_issue_ack(s, number, levels, heads, given, atom, owner, dispatch_index, wavefront):
    """One cycle of the buffer and of the queue's end, `given` an update's acknowledgement or not.
    The channel's `corrupt` is the error of what is lost.

    Returns
    -------
    int
        Mark of the queue if a new event was pushed, or 0.
    """
    channel = s.channels[natural(number)]
    queue = channel.waiting
    takes = room(levels, Q.issue_acks, D.issue_acks)
    if is_empty(queue):
        if not given:
            return 0
        if takes:
            channel.awake |= MARK.issue_acks
            return _join(channel, levels, heads, atom, owner, dispatch_index, wavefront)
    if given:
        at = push_at(queue, ISSUE_ACK_BUFFER)
        bits = wrong_bits(s, ISSUE_ACKS, number)
        if bits | queue.has_wrong:
            channel.waiting_wrong[at] = bits
            queue.has_wrong = 1
        to = channel.waiting_acks[at]
        to.atom = atom
        to.owner = owner
        to.dispatch_index = dispatch_index
        to.wavefront = wavefront
    pushed = 0
    leaves = takes and queue.checked > 0
    if leaves:
        channel.awake |= MARK.issue_acks
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
    lost = queue.has_wrong and _check(s, channel)
    if step_queue(queue, ISSUE_ACK_BUFFER, given, leaves, lost):
        channel.awake |= MARK.issue_ack_buffer
    return pushed


@inlined
def _check(s, channel):
    """What leaves the memory is corrected, or lost; gives whether it is."""
    queue = channel.waiting
    at = leaving(queue, ISSUE_ACK_BUFFER)
    if at < 0 or channel.waiting_wrong[at] == 0:
        return False
    bits = channel.waiting_wrong[at]
    channel.waiting_wrong[at] = 0
    if bits == CORRECTED:
        s.gpu.corrected = s.gpu.called = 1
        return False
    lost = channel.waiting_acks[at]
    channel.corrupt = error(_CORRUPT, lost.owner, lost.dispatch_index, lost.wavefront)
    note_ended(channel, natural(lost.owner), 1)
    if queue.checked:
        copy_record(lost, channel.waiting_acks[oldest(queue)])
    return bits == LOST


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
