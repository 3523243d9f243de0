"""What a memory channel shows at its ports."""

from rtl.channel.channel import STORES_ON_THEIR_WAY
from sysmodel.engine.ports import CHANNEL_OUTPUTS, O
from sysmodel.lib.compiled import inlined

from .issue_acks import has_room
from .queues import D, Q, front, has, natural, room
from .records import store_record
from .rooms import MARK, MORE

__all__ = ["tell", "write_channel"]

_REMOTE = MORE.remote * 255


@inlined
def _write_counts(s, number, outputs):
    """What does not follow from the queues between the stages."""
    channel, o = s.channels[natural(number)], natural(number * CHANNEL_OUTPUTS)
    outputs[o + O.issue_acks_ready] = has_room(channel)
    free = 0
    for context in range(s.config.contexts):
        lane = channel.lanes[context]
        waiting = lane.remote_stored + lane.remote_valid
        free |= (waiting <= s.config.remote_depth - STORES_ON_THEIR_WAY) << context
    outputs[o + O.stores_room] = free
    outputs[o + O.stored] = channel.stored


@inlined
def _write_queues(s, number, outputs):
    """What follows from them."""
    channel, o = s.channels[natural(number)], natural(number * CHANNEL_OUTPUTS)
    levels, heads = channel.levels, channel.heads
    outputs[o + O.reads_ready] = room(levels, Q.reads, D.reads)
    outputs[o + O.stores_ready] = room(levels, Q.stores, D.stores)
    outputs[o + O.link_in_ready] = room(levels, Q.inbound, D.inbound)
    outputs[o + O.link_out_valid] = has(levels, Q.link)
    if has(levels, Q.link):
        first = channel.link[front(heads, Q.link)]
        store_record(outputs, o + O.link_out_kind, first.packet)
        outputs[o + O.link_out_source] = first.source
        outputs[o + O.link_owner] = first.owner
    outputs[o + O.dram_valid] = has(levels, Q.issue)
    if has(levels, Q.issue):
        store_record(outputs, o + O.dram_access, channel.issue[front(heads, Q.issue)])


@inlined
def write_channel(s, number, outputs):
    """The channel's outputs of the next cycle."""
    outputs[natural(number * CHANNEL_OUTPUTS) + O.returns_ready] = 1
    _write_counts(s, number, outputs)
    _write_queues(s, number, outputs)


@inlined
def tell(s, number, outputs, levels, heads):
    """Likewise, where they differ from those of this cycle, which it began with these queues."""
    channel = s.channels[natural(number)]
    if channel.levels != levels or channel.heads != heads:
        _write_queues(s, number, outputs)
    if channel.awake & (MARK.issue_ack_buffer | MARK.stored_count) or channel.awake_more & _REMOTE:
        _write_counts(s, number, outputs)
