"""Outputs of a memory channel."""

from sysmodel.engine.ports import CHANNEL_OUTPUTS, O
from sysmodel.lib.compiled import inlined

from ..index import natural
from ..records import Record, Words, store_record
from .channel import ChannelOutputs
from .issue_acks import has_buffer_space
from .queues import D, Q, front, has, has_space
from .remote_queue import has_remote_space

__all__ = ["update_channel", "write_channel"]


@inlined
def _write_counts(config: Record, channel: Record, outputs: Words, o: int) -> None:
    """Write the outputs that do not follow from the queues between the stages."""
    outputs[o + O.issue_acks_ready] = has_buffer_space(channel)
    free = 0
    for context in range(config.contexts):
        free |= has_remote_space(config, channel.remote_queues[context]) << context
    outputs[o + O.store_space] = free
    outputs[o + O.stored] = channel.stored


@inlined
def _write_queues(channel: Record, outputs: Words, o: int) -> None:
    """Write the outputs that follow from the queues between the stages."""
    queued, heads = channel.queued, channel.heads
    outputs[o + O.reads_ready] = has_space(queued, Q.reads, D.reads)
    outputs[o + O.stores_ready] = has_space(queued, Q.stores, D.stores)
    outputs[o + O.link_in_ready] = has_space(queued, Q.inbound, D.inbound)
    outputs[o + O.link_out_valid] = has(queued, Q.link)
    if has(queued, Q.link):
        first = channel.link[front(heads, Q.link)]
        store_record(outputs, o + O.link_out_destination, first.packet)
        outputs[o + O.link_owner] = first.owner
    outputs[o + O.dram_valid] = has(queued, Q.issue)
    if has(queued, Q.issue):
        store_record(outputs, o + O.dram_access, channel.issue[front(heads, Q.issue)])


@inlined
def write_channel(config: Record, channel: Record, outputs: Words) -> None:
    """Write the channel's outputs of the next cycle."""
    o = natural(channel.number * CHANNEL_OUTPUTS)
    outputs[o + O.returns_ready] = 1
    _write_counts(config, channel, outputs, o)
    _write_queues(channel, outputs, o)


@inlined
def update_channel(config: Record, channel: Record, outputs: Words, done: ChannelOutputs) -> None:
    """Write those outputs of the next cycle that differ from the outputs of the current cycle;
    ``done`` is the result of this cycle.
    """
    o = natural(channel.number * CHANNEL_OUTPUTS)
    if done.popped | done.pushed:
        _write_queues(channel, outputs, o)
    if done.buffered or done.remotes or done.issued:
        _write_counts(config, channel, outputs, o)
