"""Outstanding requests of each context in a channel: counters, and whether the channel is drained.

Stages of the channel and the tracker's front report the requests that begin and end in a cycle. The
counters follow in the next cycle; updates that the tracker accepts are counted one cycle later.
"""

from rtl.channel.outstanding_counter import COUNT_BITS
from sysmodel.lib.compiled import inlined

from ..dma.lane import lane_is_idle
from ..records import Record, record
from .queues import Q, has, waiting

__all__ = [
    "OUTSTANDING",
    "OUTSTANDING_WORDS",
    "count_outstanding",
    "has_outstanding",
    "note_begun",
    "note_ended",
    "note_left_link",
    "note_on_link",
    "note_reduction_begun",
    "note_reduction_ended",
    "note_segment",
    "note_tracked",
    "note_write_begun",
    "note_write_ended",
    "see_memory",
    "step_older",
    "take_notes",
]

OUTSTANDING = record(
    "update_count updates_begun updates_ended updates_tracked write_count writes_begun "
    "writes_ended reduction_count reductions_begun reductions_ended on_link"
)
"""Counters of a context: stores and updates, plain writes of packets, issued updates that wait for
the reduce unit (with data only), packets in front of the link.
"""
OUTSTANDING_WORDS = "live noted busy undrained unsent stale older"
"""Fields of the channel's record, with a bit for each context: the context may have work in the
channel; it has any work left; it has work other than packets in front of the link; it has DMA work.
``older`` has four bits for each context: packets, of any context, in the inbound queue that came
before the context's last change.
``noted`` has one bit for requests that began or ended in this cycle, and one bit for arrived
segments. ``stale``: the memory has owed something since the reset, so that no context is drained.
"""

_REQUEST, _SEGMENT = 1, 2
_MOST_OUTSTANDING = (1 << COUNT_BITS) - 1


@inlined
def _note(channel: Record, owner: int) -> None:
    channel.live |= 1 << owner
    channel.noted |= _REQUEST


@inlined
def note_begun(channel: Record, owner: int, counted: bool) -> None:
    """Record the arrival of a store, or an accepted update, if it is ``counted``."""
    if counted:
        channel.outstanding[owner].updates_begun += 1
        _note(channel, owner)


@inlined
def note_ended(channel: Record, owner: int, counted: bool) -> None:
    """Record the end of a store or an update, if it is ``counted``."""
    if counted:
        channel.outstanding[owner].updates_ended += 1
        _note(channel, owner)


@inlined
def note_tracked(channel: Record, owner: int, count: int) -> None:
    """Record the updates, or the end-of-tile marker, that the tracker accepts."""
    channel.outstanding[owner].updates_tracked += count
    _note(channel, owner)


@inlined
def note_write_begun(channel: Record, owner: int) -> None:
    """Record a plain write of a packet that the check accepts."""
    channel.outstanding[owner].writes_begun += 1
    _note(channel, owner)


@inlined
def note_write_ended(channel: Record, owner: int) -> None:
    """Record the end of a plain write."""
    channel.outstanding[owner].writes_ended += 1
    _note(channel, owner)


@inlined
def note_reduction_begun(channel: Record, owner: int) -> None:
    """Record an update that the DRAM has issued, and that the reduce unit has to perform."""
    channel.outstanding[owner].reductions_begun += 1
    _note(channel, owner)


@inlined
def note_reduction_ended(channel: Record, owner: int) -> None:
    """Record an update that the reduce unit takes."""
    channel.outstanding[owner].reductions_ended += 1
    _note(channel, owner)


@inlined
def note_segment(channel: Record, owner: int) -> None:
    """Record a segment that a DMA engine pushes into the context's lane."""
    channel.live |= 1 << owner
    channel.noted |= _SEGMENT


@inlined
def note_on_link(channel: Record, owner: int) -> None:
    """Record a packet that enters the queue in front of the link."""
    channel.outstanding[owner].on_link += 1


@inlined
def note_left_link(channel: Record, owner: int) -> None:
    """Record a packet that leaves over the link."""
    channel.outstanding[owner].on_link -= 1


@inlined
def take_notes(channel: Record) -> bool:
    """Return whether a request began or ended in this cycle; at the end of the cycle."""
    noted = channel.noted & _REQUEST != 0
    channel.noted = 0
    return noted


@inlined
def _older(channel: Record, context: int) -> int:
    """Return the number of packets in the inbound queue from before the context's last change."""
    return channel.older >> 4 * context & 15


@inlined
def _has_older(channel: Record, context: int, changed: int) -> bool:
    """Return whether packets wait in the inbound queue from before the context's last change;
    ``changed`` has a bit for each context that changes in this cycle."""
    changes = changed >> context & 1 != 0 and has(channel.queued, Q.inbound)
    return changes or _older(channel, context) != 0


@inlined
def has_outstanding(channel: Record, context: int, changed: int) -> bool:
    """Return whether stores or updates of the context are outstanding or not reduced, or packets
    wait in the inbound queue from before its last change; ``changed`` has a bit for each context
    that changes in this cycle."""
    own = channel.outstanding[context]
    works = own.update_count | own.updates_begun | own.reduction_count | own.reductions_begun
    return works != 0 or _has_older(channel, context, changed)


@inlined
def step_older(contexts: int, channel: Record, changed: int, queued: int, popped: int) -> bool:
    """Follow the packets in the inbound queue from before the last changes of the contexts, at the
    end of a cycle that began with these levels of the queues.

    Returns
    -------
    bool
        A count may change.
    """
    checked = int(waiting(popped, Q.inbound))
    if not changed and not (checked and channel.older):
        return False
    count = int(waiting(queued, Q.inbound))
    moves = (changed != 0 and count != 0) or (checked != 0 and channel.older != 0)
    for context in range(contexts):
        older = _older(channel, context)
        if changed >> context & 1:
            now = count - checked
        else:
            now = max(older - checked, 0)
        channel.older += (now - older) << 4 * context
    return moves


@inlined
def _count(outstanding: int, begun: int, ended: int) -> int:
    count = (outstanding + begun - ended) & (2 * _MOST_OUTSTANDING + 1)
    return 0 if count > _MOST_OUTSTANDING else count


@inlined
def _follow(own: Record) -> None:
    """Count the requests that began and ended in the last cycle."""
    if own.updates_begun | own.updates_ended:
        own.update_count = _count(own.update_count, own.updates_begun, own.updates_ended)
    own.updates_begun, own.updates_ended, own.updates_tracked = 0, own.updates_tracked, 0
    if own.writes_begun | own.writes_ended:
        own.write_count = _count(own.write_count, own.writes_begun, own.writes_ended)
        own.writes_begun = own.writes_ended = 0
    if own.reductions_begun | own.reductions_ended:
        own.reduction_count = _count(
            own.reduction_count, own.reductions_begun, own.reductions_ended
        )
        own.reductions_begun = own.reductions_ended = 0


@inlined
def count_outstanding(contexts: int, channel: Record, changed: int) -> None:
    """Count the outstanding requests, and find the contexts that have any; at the start of the
    cycle, in which the contexts of ``changed``, one bit each, change.
    """
    undrained = unsent = 0
    if changed | channel.older:
        for context in range(contexts):
            undrained |= _has_older(channel, context, changed) << context
    if channel.live:
        for context in range(contexts):
            own, lane, bit = channel.outstanding[context], channel.lanes[context], 1 << context
            remote = channel.remote_queues[context]
            work = own.update_count | own.updates_begun | own.write_count | own.writes_begun
            work |= own.reduction_count | own.reductions_begun
            work |= remote.remote_stored | remote.remote_valid
            lane_works = not lane_is_idle(lane)
            sends = own.on_link != 0 or lane_works
            if work != 0 or lane_works:
                undrained |= bit
            if sends:
                unsent |= bit
            ends = own.updates_ended | own.updates_tracked | own.writes_ended
            ends |= own.reductions_ended
            if work | ends:
                _follow(own)
            elif not sends and not lane.segments_pushed | remote.remote_put:
                channel.live &= ~bit
    if channel.stale:
        undrained = (1 << contexts) - 1
    channel.busy, channel.undrained, channel.unsent = undrained | unsent, undrained, unsent


@inlined
def see_memory(channel: Record, owes: bool) -> bool:
    """Note whether the memory owes anything, at the end of the cycle; return whether what it owed
    at a reset has come.
    """
    comes = channel.stale and not owes
    if comes:
        channel.stale = 0
    return comes
