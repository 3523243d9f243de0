"""Issue acknowledgements: a buffer, and behind it a queue that holds one event for all waiting
updates of a tile.
"""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import inlined

from ..index import natural
from ..payloads.tiles import add_update, make_issue_ack, make_updates
from ..protected_queue import (
    can_push,
    check_leaving,
    is_empty,
    leaving,
    note_bit_errors,
    oldest,
    push_at,
    step_queue,
)
from ..records import Record, copy_record
from ..registers.errors import error
from ..registers.injection import CORRECTED, ISSUE_ACKS, LOST, bit_errors
from .outstanding import note_ended
from .queues import D, Q, back, has_space, mark, position, waiting

__all__ = ["ISSUE_ACK_BUFFER", "has_buffer_space", "step_issue_acks"]

ISSUE_ACK_BUFFER = 128
_MOST = 15  # updates in one event
_CORRUPT = ErrorCode.TRACKER_CORRUPT.value


@inlined
def has_buffer_space(channel: Record) -> bool:
    """Return whether the channel takes an issue acknowledgement."""
    return can_push(channel.waiting, ISSUE_ACK_BUFFER)


@inlined
def step_issue_acks(
    injection: Record,
    channel: Record,
    queued: int,
    heads: int,
    given: bool,
    atom: int,
    owner: int,
    dispatch_index: int,
    wavefront: int,
) -> tuple[int, bool, bool, bool, bool, int]:
    """Advance the buffer by one cycle, and join its oldest acknowledgement to the queue.

    Parameters
    ----------
    injection : record
        Record :data:`~sysmodel.engine.golden.registers.injection.INJECTION`.
    given : bool
        The acknowledgement of an update arrives.

    Returns
    -------
    pushed : int
        Mark of the queue if a new event was pushed, or 0.
    joins : bool
        An acknowledgement enters the queue.
    buffered : bool
        A register of the buffer changes.
    checked : bool
        An acknowledgement leaves the buffer's memory.
    corrected : bool
        An acknowledgement in the buffer had a bit error, which is corrected.
    failure : int
        Error of a lost acknowledgement, or 0.
    """
    queue = channel.waiting
    takes = has_space(queued, Q.issue_acks, D.issue_acks)
    if is_empty(queue):
        if not given:
            return 0, False, False, False, False, 0
        if takes:
            pushed = _join(channel, queued, heads, atom, owner, dispatch_index, wavefront)
            return pushed, True, False, False, False, 0
    if given:
        at = push_at(queue, ISSUE_ACK_BUFFER)
        bits = bit_errors(injection, ISSUE_ACKS, channel.number)
        note_bit_errors(queue, channel.waiting_errors, at, bits)
        make_issue_ack(channel.waiting_acks[at], atom, owner, dispatch_index, wavefront)
    pushed = 0
    leaves = takes and queue.checked > 0
    if leaves:
        first = channel.waiting_acks[oldest(queue)]
        pushed = _join(
            channel,
            queued,
            heads,
            first.atom,
            first.owner,
            first.dispatch_index,
            first.wavefront,
        )
    checked = leaving(queue, ISSUE_ACK_BUFFER) >= 0
    at, bits = check_leaving(queue, channel.waiting_errors, ISSUE_ACK_BUFFER)
    failure = _lose(channel, at) if bits == LOST else 0
    buffered = step_queue(queue, ISSUE_ACK_BUFFER, given, leaves, bits == LOST)
    return pushed, leaves, buffered, checked, bits == CORRECTED, failure


@inlined
def _lose(channel: Record, at: int) -> int:
    """Drop the lost acknowledgement that leaves the memory; return its error."""
    queue, lost = channel.waiting, channel.waiting_acks[at]
    failure = error(_CORRUPT, lost.owner, lost.dispatch_index, lost.wavefront)
    note_ended(channel, natural(lost.owner), True)
    if queue.checked:
        copy_record(lost, channel.waiting_acks[oldest(queue)])
    return failure


@inlined
def _join(
    channel: Record,
    queued: int,
    heads: int,
    atom: int,
    owner: int,
    dispatch_index: int,
    wavefront: int,
) -> int:
    """Put one update into the queue, which has space.

    The update joins its tile's event if one waits behind the head. The head does not change,
    because the tracker may take it in this cycle.
    """
    for index in range(1, waiting(queued, Q.issue_acks)):
        event = channel.issue_acks[position(heads, Q.issue_acks, index)]
        if (
            event.owner == owner
            and event.dispatch_index == dispatch_index
            and event.wavefront == wavefront
            and event.count < _MOST
        ):
            add_update(event, atom)
            return 0
    to = channel.issue_acks[back(queued, heads, Q.issue_acks)]
    make_updates(to, atom, owner, dispatch_index, wavefront)
    return mark(Q.issue_acks)
