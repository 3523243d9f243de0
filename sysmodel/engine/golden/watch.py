"""What of each context is on its way through a channel, and whether anything of it is left."""

from rtl.channel.under_way import COUNT_BITS
from sysmodel.lib.compiled import inlined

from .dma import lane_is_idle

__all__ = [
    "look_at_lanes",
    "note_begun",
    "note_copy_begun",
    "note_copy_ended",
    "note_ended",
    "note_tracked",
]

_MOST_UNDER_WAY = (1 << COUNT_BITS) - 1


@inlined
def _note(channel, owner):
    channel.live |= 1 << owner
    channel.comes = 1


@inlined
def note_begun(channel, owner, counted):
    """A store or an update comes, ``counted`` or not."""
    if counted:
        channel.lanes[owner].begun += 1
        _note(channel, owner)


@inlined
def note_ended(channel, owner, counted):
    """It is over."""
    if counted:
        channel.lanes[owner].ended += 1
        _note(channel, owner)


@inlined
def note_tracked(channel, owner, count):
    """The tracker takes so many updates, or an end-of-tile marker."""
    channel.lanes[owner].tracked += count
    _note(channel, owner)


@inlined
def note_copy_begun(channel, owner, counted):
    """What only is to be written comes."""
    if counted:
        channel.lanes[owner].copies_begun += 1
        _note(channel, owner)


@inlined
def note_copy_ended(channel, owner, counted):
    """It is over."""
    if counted:
        channel.lanes[owner].copies_ended += 1
        _note(channel, owner)


@inlined
def _count(under_way, begun, ended):
    count = (under_way + begun - ended) & (2 * _MOST_UNDER_WAY + 1)
    return 0 if count > _MOST_UNDER_WAY else count


@inlined
def _count_under_way(lane):
    """Count what began and ended in the last cycle."""
    if lane.begun | lane.ended:
        lane.under_way = _count(lane.under_way, lane.begun, lane.ended)
    lane.begun, lane.ended, lane.tracked = 0, lane.tracked, 0
    if lane.copies_begun | lane.copies_ended:
        lane.copies_under_way = _count(lane.copies_under_way, lane.copies_begun, lane.copies_ended)
        lane.copies_begun = lane.copies_ended = 0


@inlined
def look_at_lanes(s, channel):
    """Count what is under way. What is left of a context then is a bit of it in ``busy``, without
    packets before the link in ``stays``, and of its DMA work in ``unsent``."""
    busy = stays = unsent = 0
    if channel.live:
        for context in range(s.config.contexts):
            lane, bit = channel.lanes[context], 1 << context
            work = lane.under_way | lane.begun | lane.copies_under_way | lane.copies_begun
            work |= lane.remote_stored | lane.remote_valid
            sends = lane.on_link != 0 or not lane_is_idle(lane)
            if work != 0 or not lane_is_idle(lane):
                stays |= bit
            if sends:
                unsent |= bit
            ends = lane.ended | lane.tracked | lane.copies_ended
            if work | ends:
                _count_under_way(lane)
            elif not sends and not lane.segments_pushed | lane.remote_put:
                channel.live &= ~bit
        busy = stays | unsent
    channel.busy, channel.stays, channel.unsent = busy, stays, unsent
    return busy, stays
