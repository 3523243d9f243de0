"""Memory channel: connects the stages between its queues, and advances them by one cycle."""

from typing import NamedTuple

import numpy as np

from rtl.registers.map import MAX_CONTEXTS
from sysmodel.engine.ports import CHANNEL_INPUTS, I
from sysmodel.lib.compiled import inlined

from ..dma.lane import LANE, step_lane
from ..index import natural
from ..nmc.unit import NMC
from ..payloads.layouts import ISSUE_ACK
from ..protected_queue import PROTECTED_QUEUE, RING
from ..records import Record, Words, record
from ..registers.link_errors import LINK_WORDS
from ..state import GoldenState
from ..tracker.front import FRONT_WORDS
from .access_merge import ACCESS_MERGE, merge_accesses, reading_lane
from .arbitration import ARBITER_STATE, MEASUREMENT, measure, reset_waits, waits
from .end_queue import END_TURN, OF_PACKET, pick_marker
from .inputs import STORED_COUNT, returned_context, take_issue_ack, take_requests, take_return
from .issue_acks import ISSUE_ACK_BUFFER
from .link_merge import LINK_MERGE, LINK_TURN, drop_empty, drop_packet, merge_packets
from .outstanding import (
    OUTSTANDING,
    OUTSTANDING_WORDS,
    count_outstanding,
    note_left_link,
    note_on_link,
    see_memory,
    step_older,
    take_notes,
)
from .packet_check import check_packet
from .queues import QUEUE_WORDS, RINGS, Q, begin_queues, end_queues, front, has, mark
from .remote_queue import REMOTE_QUEUE, step_remote
from .store_check import classify_store
from .store_router import route_store

__all__ = ["CHANNEL", "ChannelOutputs", "changes_channel", "step_channel"]

CHANNEL = record(
    f"number occupancy link_space {FRONT_WORDS} {LINK_WORDS} {QUEUE_WORDS} {STORED_COUNT} "
    f"{END_TURN} {OUTSTANDING_WORDS} quiescent",
    [
        ("merge", ACCESS_MERGE),
        ("arbiter", ARBITER_STATE),
        ("measurement", MEASUREMENT),
        ("link_merge", LINK_MERGE),
        ("link_turns", LINK_TURN, (MAX_CONTEXTS,)),
        ("outstanding", OUTSTANDING, (MAX_CONTEXTS,)),
        ("lanes", LANE, (MAX_CONTEXTS,)),
        ("remote_queues", REMOTE_QUEUE, (MAX_CONTEXTS,)),
        ("waiting", PROTECTED_QUEUE),
        *RINGS,
        ("waiting_acks", ISSUE_ACK, (RING * ISSUE_ACK_BUFFER,)),
        ("waiting_errors", np.int64, (RING * ISSUE_ACK_BUFFER,)),
        ("nmc", NMC),
    ],
)
"""Channel: registers of its inputs, and the records of its blocks and queues."""

_ACCESSES = sum(15 * mark(queue) for queue in (Q.reads, Q.writes, Q.updates))


class ChannelOutputs(NamedTuple):
    """Result of a cycle of the channel, without the outputs that follow from its queues.

    Attributes
    ----------
    popped, pushed : int
        Marks of the queues.
    store_failure, store_place, packet_failure, packet_place, ack_failure : int
        Errors of a store, of a packet and of an issue acknowledgement, with their places; 0 without
        an error.
    ended : bool
        The packet that was checked is an end-of-tile marker.
    corrected : bool
        A bit error was corrected.
    sender : int
        Context whose packet the link accepts, as a one-hot bit.
    freed : bool
        A lane's full queue of segments has space again.
    arbitrated, merged, joined, buffered, checked, noted, issued, counted : bool
        A register of the access merge may change; a packet left for the link, or was dropped; an
        issue acknowledgement entered its queue; the buffer of issue acknowledgements changed; an
        acknowledgement left the buffer's memory; a request began or ended; the DRAM issued a plain
        write; what the memory owed at a reset has come, or the packets from before a context's
        change are counted.
    lanes, remotes : int
        Lanes, and queues of remote stores, that changed.
    """

    popped: int
    pushed: int
    store_failure: int
    store_place: int
    packet_failure: int
    packet_place: int
    ended: bool
    ack_failure: int
    corrected: bool
    sender: int
    freed: bool
    arbitrated: bool
    merged: bool
    joined: bool
    buffered: bool
    checked: bool
    noted: bool
    issued: bool
    counted: bool
    lanes: int
    remotes: int


@inlined
def _step_lanes(
    s: GoldenState,
    number: int,
    channel: Record,
    reader: int,
    sender: int,
    remote: bool,
    leaves: bool,
    returned: int,
) -> tuple[int, int, bool, bool]:
    """Advance the lanes and the queues of remote stores by one cycle.

    Returns
    -------
    lanes, remotes : int
        Lanes, and queues of remote stores, that changed.
    freed : bool
        A lane's full queue of segments has space again.
    dropped : bool
        A packet of an aborted context, or one without peers, was dropped.
    """
    lanes = remotes = 0
    freed = dropped = False
    if not channel.live and returned < 0:
        return lanes, remotes, freed, dropped
    for context in range(s.config.contexts):
        is_back = returned == context
        if channel.live >> context & 1 or is_back:
            lane, queue = channel.lanes[context], channel.remote_queues[context]
            turn, aborted = channel.link_turns[context], s.contexts[context].aborted != 0
            sends, of_remote = sender == context and leaves, remote
            if sender != context:
                if aborted:
                    choice = drop_packet(turn, lane, queue)
                else:
                    choice = drop_empty(s, number, context, turn, lane, queue)
                sends, of_remote = choice >= 0, choice == 0
                dropped |= sends
            out = step_lane(
                s.config,
                s.slots,
                number,
                context,
                lane,
                aborted,
                reader == context,
                sends and not of_remote,
                is_back,
            )
            lanes += out.active
            freed |= out.freed
            remotes += step_remote(s.config, queue, sends and of_remote)
    return lanes, remotes, freed, dropped


@inlined
def _merge(
    s: GoldenState, number: int, channel: Record, link_space: int, queued: int, heads: int
) -> tuple[int, int, bool, int, int, bool, bool]:
    """Choose a request for ``issue``, and a packet for ``link``.

    Returns
    -------
    popped, pushed : int
    arbitrated : bool
        A register of the access merge may change.
    reader, sender : int
        Context whose lane reads, and context whose packet is for the link, or -1.
    remote, leaves : bool
        The packet is a remote store; it leaves with this copy.
    """
    popped = pushed = 0
    reader = reading_lane(s.config.contexts, channel) if channel.live else -1
    arbitrated = queued & _ACCESSES != 0 or reader >= 0
    if arbitrated:
        inputs = s.gpu.arbiter_inputs
        popped, pushed, reader = merge_accesses(s.config, inputs, channel, queued, heads, reader)
    elif waits(channel.arbiter):
        reset_waits(channel.arbiter)
        arbitrated = True
    sender, remote, leaves = -1, False, False
    if channel.live:
        more, sender, remote, leaves = merge_packets(s, number, channel, queued, heads, link_space)
        pushed += more
        if sender >= 0:
            note_on_link(channel, natural(sender))
    return popped, pushed, arbitrated, reader, sender, remote, leaves


@inlined
def _check(
    s: GoldenState, number: int, channel: Record, queued: int, heads: int, link_space: int
) -> tuple[int, int, int, int, int, int, bool]:
    """Advance the stages between the ports and the merges by one cycle.

    Returns
    -------
    popped, pushed : int
    store_failure, store_place, packet_failure, packet_place : int
    ended : bool
        The packet is an end-of-tile marker.
    """
    popped = pushed = first = first_place = second = second_place = 0
    marker = -1
    if has(queued, Q.classified) or has(queued, Q.inbound):
        marker = pick_marker(channel, queued, heads)
    if has(queued, Q.classified):
        popped, pushed, first, first_place = route_store(
            s, number, channel, queued, heads, link_space, marker
        )
    if has(queued, Q.stores):
        more_popped, more_pushed, failure, place = classify_store(s, channel, queued, heads)
        popped += more_popped
        pushed += more_pushed
        if failure:
            first, first_place = failure, place
    if has(queued, Q.inbound):
        more_popped, more_pushed, second, second_place = check_packet(
            s, channel, queued, heads, marker
        )
        popped += more_popped
        pushed += more_pushed
    return popped, pushed, first, first_place, second, second_place, marker == OF_PACKET


@inlined
def changes_channel(s: GoldenState, number: int, inputs: Words) -> bool:
    """Return whether the inputs, the tracker's front or a DMA engine may change a quiescent
    channel.
    """
    channel, i = s.channels[natural(number)], natural(number * CHANNEL_INPUTS)
    comes = inputs[i + I.reads_valid] | inputs[i + I.stores_valid] | inputs[i + I.link_in_valid]
    comes |= inputs[i + I.issue_acks_valid] | inputs[i + I.returns_valid]
    comes |= inputs[i + I.nmc_in_valid]
    changes = (inputs[i + I.occupancy] ^ channel.occupancy) | (
        inputs[i + I.link_space] ^ channel.link_space
    )
    if comes | changes | channel.popped | channel.pushed | channel.noted | channel.stale:
        return True
    queued = channel.queued
    leaves = has(queued, Q.issue) and inputs[i + I.dram_ready]
    return leaves or (has(queued, Q.link) and inputs[i + I.link_out_ready])


@inlined
def step_channel(
    s: GoldenState, number: int, inputs: Words, start_measurement: bool
) -> ChannelOutputs:
    """Advance channel `number` by one cycle."""
    channel, i = s.channels[natural(number)], natural(number * CHANNEL_INPUTS)
    queued, heads = channel.queued, channel.heads
    popped, pushed = begin_queues(channel)
    count_outstanding(s.config.contexts, channel, s.gpu.changing)
    taken = 0
    if has(queued, Q.issue) and inputs[i + I.dram_ready]:
        popped += mark(Q.issue)
    if has(queued, Q.link) and inputs[i + I.link_out_ready]:
        popped += mark(Q.link)
        owner = natural(channel.link[front(heads, Q.link)].owner)
        note_left_link(channel, owner)
        taken = 1 << owner
    link_space = inputs[i + I.link_space]
    out_popped, out_pushed, arbitrated, reader, sender, remote, leaves = _merge(
        s, number, channel, link_space, queued, heads
    )
    in_popped, in_pushed, store_failure, store_place, packet_failure, packet_place, ended = _check(
        s, number, channel, queued, heads, link_space
    )
    returned = returned_context(s.config, channel, inputs, i)
    lanes, remotes, freed, dropped = _step_lanes(
        s, number, channel, reader, sender, remote, leaves, returned
    )
    if returned >= 0:
        take_return(s, number, inputs)
    if start_measurement or channel.measurement.measuring_step:
        measure(s.config.arbiter, channel.measurement, channel.occupancy, start_measurement)
        arbitrated = True
    if channel.occupancy != inputs[i + I.occupancy]:
        channel.occupancy = inputs[i + I.occupancy]
        arbitrated = True
    channel.link_space = link_space
    pushed += out_pushed + in_pushed + take_requests(s, number, inputs, queued, heads)
    acks = take_issue_ack(s, number, inputs, queued, heads)
    popped += out_popped + in_popped
    pushed += acks.pushed
    followed = step_older(s.config.contexts, channel, s.gpu.changing, queued, popped)
    end_queues(channel, popped, pushed)
    return ChannelOutputs(
        popped,
        pushed,
        store_failure,
        store_place,
        packet_failure,
        packet_place,
        ended,
        acks.failure,
        acks.corrected,
        taken,
        freed,
        arbitrated,
        sender >= 0 or dropped,
        acks.joins,
        acks.buffered,
        acks.checked,
        take_notes(channel),
        acks.issued,
        see_memory(channel, inputs[i + I.memory_owes] != 0) or followed,
        lanes,
        remotes,
    )
