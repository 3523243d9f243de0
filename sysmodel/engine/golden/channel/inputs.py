"""Inputs of a channel: requests, packets, acknowledgements and returns from its ports."""

from typing import NamedTuple

from rtl.interface.encodings import Access, PacketKind
from sysmodel.engine.ports import CHANNEL_INPUTS, I
from sysmodel.lib.compiled import inlined

from ..dma.lane import fill_slot
from ..index import natural
from ..payloads.data import load_data
from ..payloads.packets import note_arrival
from ..protected_queue import is_empty
from ..records import Record, Words, load_record
from ..state import GoldenState
from .address_map import locate
from .issue_acks import has_buffer_space, step_issue_acks
from .outstanding import (
    note_begun,
    note_reduction_begun,
    note_reduction_ended,
    note_write_ended,
)
from .queues import D, Q, back, has_space, mark

__all__ = [
    "AckOutputs",
    "STORED_COUNT",
    "returned_context",
    "take_issue_ack",
    "take_requests",
    "take_return",
]

STORED_COUNT = "stored"
"""Field of the channel's record: plain writes of packets that the DRAM has issued."""

_WRITE, _UPDATE, _PLACE = Access.WRITE.value, Access.UPDATE.value, Access.PLACE.value
_END = PacketKind.END.value


class AckOutputs(NamedTuple):
    """Result of a cycle of the issue acknowledgements.

    Attributes
    ----------
    pushed : int
        Mark of the queue if a new event was pushed, otherwise 0.
    joins, buffered, checked, issued : bool
        An acknowledgement enters the queue; a register of the buffer changes; an acknowledgement
        leaves the buffer's memory; the DRAM issued a plain write.
    corrected : bool
        A bit error in the buffer is corrected.
    failure : int
        Error of a lost acknowledgement, or 0.
    """

    pushed: int
    joins: bool
    buffered: bool
    checked: bool
    issued: bool
    corrected: bool
    failure: int


@inlined
def _take_read(channel: Record, inputs: Words, i: int, queued: int, heads: int) -> int:
    if inputs[i + I.reads_valid] and has_space(queued, Q.reads, D.reads):
        load_record(channel.reads[back(queued, heads, Q.reads)], inputs, i + I.reads_atom)
        return mark(Q.reads)
    return 0


@inlined
def _take_store(
    s: GoldenState, channel: Record, inputs: Words, i: int, queued: int, heads: int
) -> int:
    if inputs[i + I.stores_valid] and has_space(queued, Q.stores, D.stores):
        to = channel.stores[back(queued, heads, Q.stores)]
        store, location = to.store, to.location
        load_record(store, inputs, i + I.stores_kind)
        locate(s, location, store.atom, store.context, store.dispatch_index, False)
        note_begun(channel, natural(location.owner), location.counted)
        return mark(Q.stores)
    return 0


@inlined
def _take_packet(
    s: GoldenState, channel: Record, inputs: Words, i: int, queued: int, heads: int
) -> int:
    if inputs[i + I.link_in_valid] and has_space(queued, Q.inbound, D.inbound):
        arrival = channel.inbound[back(queued, heads, Q.inbound)]
        packet, location = arrival.packet, arrival.location
        load_record(packet, inputs, i + I.link_in_destination)
        end = packet.kind == _END
        owned = locate(s, location, packet.atom, packet.context, packet.slot, end)
        control = s.contexts[natural(location.owner)].control
        note_arrival(arrival, not owned, control.open == 0)
        return mark(Q.inbound)
    return 0


@inlined
def take_requests(s: GoldenState, number: int, inputs: Words, queued: int, heads: int) -> int:
    """Take the reads, stores and packets that the ports offer; return the queues they enter."""
    channel, i = s.channels[natural(number)], natural(number * CHANNEL_INPUTS)
    pushed = _take_read(channel, inputs, i, queued, heads)
    pushed += _take_store(s, channel, inputs, i, queued, heads)
    return pushed + _take_packet(s, channel, inputs, i, queued, heads)


@inlined
def take_issue_ack(
    s: GoldenState, number: int, inputs: Words, queued: int, heads: int
) -> AckOutputs:
    """Take the issue acknowledgement that the port offers, and advance the buffer by one cycle."""
    channel, i = s.channels[natural(number)], natural(number * CHANNEL_INPUTS)
    tracked = issued = False
    # Acknowledgements of accesses from before a reset are dropped.
    if inputs[i + I.issue_acks_valid] and has_buffer_space(channel) and not channel.stale:
        access = inputs[i + I.issue_acks_access]
        tracked = access == _UPDATE or access == _PLACE
        issued = access == _WRITE
        if issued:
            channel.stored = (channel.stored + 1) & 0xFFFFFFFF
            note_write_ended(channel, natural(inputs[i + I.issue_acks_owner]))
        if access == _UPDATE and s.config.with_data:
            note_reduction_begun(channel, natural(inputs[i + I.issue_acks_owner]))
    if s.config.with_data and inputs[i + I.nmc_in_valid]:
        note_reduction_ended(channel, natural(inputs[i + I.nmc_in_owner]))
    pushed, joins, buffered, checked, corrected, failure = 0, False, False, False, False, 0
    if tracked or not is_empty(channel.waiting):
        pushed, joins, buffered, checked, corrected, failure = step_issue_acks(
            s.gpu.injection,
            channel,
            queued,
            heads,
            tracked,
            inputs[i + I.issue_acks_atom],
            inputs[i + I.issue_acks_owner],
            inputs[i + I.issue_acks_dispatch_index],
            inputs[i + I.issue_acks_wavefront],
        )
    return AckOutputs(pushed, joins, buffered, checked, issued, corrected, failure)


@inlined
def returned_context(config: Record, channel: Record, inputs: Words, i: int) -> int:
    """Return the context of the egress slot whose data the DRAM returns, or -1; data of a read from
    before a reset are dropped. The channel's inputs begin at index ``i``.
    """
    if inputs[i + I.returns_valid] and not channel.stale:
        return inputs[i + I.returns_slot] >> config.slot_bits
    return -1


@inlined
def take_return(s: GoldenState, number: int, inputs: Words) -> None:
    """Take the data that the DRAM returns."""
    i = natural(number * CHANNEL_INPUTS)
    packet = fill_slot(s.slots, number, inputs[i + I.returns_slot])
    load_data(s.config, packet, inputs, i + I.returns_data_0)
