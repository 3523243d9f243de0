"""Clock enables of the blocks of a channel."""

from sysmodel.lib.compiled import inlined

from ..channel.channel import ChannelOutputs
from ..channel.queues import Q
from ..index import natural
from ..records import Record, record
from ..state import GoldenState
from .counters import count_marks
from .kinds import MARK, MORE

__all__ = ["CHANNEL_ACTIVITY", "count_channel"]

CHANNEL_ACTIVITY = record("events_before")
"""Events of the last cycle that enable the clocks of their blocks for one more cycle."""

# Fields of the queues that are clock-gated blocks.
_QUEUES = sum(MARK[: Q.candidates])
# Events: a request began or ended, a store was checked or refused, a packet was checked, an
# acknowledgement left the memory of its buffer.
_NOTED, _STORE, _PACKET, _ACK = 1, 2, 4, 8


@inlined
def _marks(done: ChannelOutputs) -> int:
    """Return the clock enables of the queues and of the merges in front of them."""
    marks = (done.popped | done.pushed) & _QUEUES
    # The clock of a queue behind a check is enabled also if the check drops the request.
    if done.popped & MARK.stores:
        marks |= MARK.classified
    if done.popped & MARK.inbound:
        marks |= MARK.ends if done.ended else MARK.updates
    if done.joined:
        marks |= MARK.issue_acks
    if done.merged:
        marks |= MARK.link_merge
    return marks


@inlined
def _events(done: ChannelOutputs) -> int:
    """Return the events of this cycle."""
    events = _NOTED if done.noted else 0
    events |= _STORE if done.popped & MARK.stores or done.store_failure else 0
    events |= _PACKET if done.popped & MARK.inbound else 0
    return events | (_ACK if done.checked else 0)


@inlined
def count_channel(s: GoldenState, channel: Record, done: ChannelOutputs, nmc: bool) -> bool:
    """Count the clock enables of a channel; return whether there is any.

    Parameters
    ----------
    channel : record
    done : ChannelOutputs
        Result of the channel's cycle.
    nmc : bool
        A register of the NMC unit may change.
    """
    own = s.channel_activity[natural(channel.number)]
    events = _events(done)
    lasts = events | own.events_before
    own.events_before = events
    marks = _marks(done)
    if done.arbitrated:
        marks |= MARK.access_merge
    if lasts & _NOTED or (done.popped | done.pushed) & MARK.link or done.counted:
        marks |= MARK.monitor
    if done.buffered or s.gpu.injection.strobe:
        marks |= MARK.issue_ack_buffer
    if done.issued:
        marks |= MARK.stored_count
    more = done.lanes * MORE.lane + done.remotes * MORE.remote
    if lasts & _STORE:
        more += MORE.store_error
    if lasts & _PACKET:
        more += MORE.packet_error
    if lasts & _ACK:
        more += MORE.issue_ack_error
    if nmc:
        more += MORE.nmc
    return count_marks(s, marks, more)
