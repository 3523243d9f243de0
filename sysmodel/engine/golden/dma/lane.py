"""DMA lane: reads of one context's segments in one channel, and their packets for the link."""

from typing import NamedTuple

from rtl.interface.encodings import PacketKind
from sysmodel.lib.compiled import inlined

from ..index import natural
from ..payloads.accesses import make_read
from ..payloads.commands import make_marking_segment, make_segment
from ..payloads.layouts import PACKET, READ, SEGMENT
from ..payloads.packets import make_segment_packet
from ..records import Record, Records, copy_record, record

__all__ = [
    "LANE",
    "READS",
    "SEGMENTS",
    "SLOT",
    "LaneOutputs",
    "fill_slot",
    "has_lane_space",
    "lane_is_idle",
    "offers_segment",
    "push_marker",
    "push_segment",
    "step_lane",
]

_END = PacketKind.END.value
SEGMENTS, READS = 2, 2
LANE = record(
    "segments_level segments_head segments_pushed segment_index reads_level reads_head "
    "slot_head slot_tail slots_used deferred has_ahead",
    [("segments", SEGMENT, (SEGMENTS,)), ("reads", READ, (READS,)), ("ahead", PACKET)],
)
"""Queues of segments and of reads, the circular buffer of egress slots, and the prefetched packet.
``deferred``: the packet of a filled slot could not be read, because the slots' memory was busy.
"""
SLOT = record([("packet", PACKET)], "filled")
"""Egress slot: a packet, and the flag that its data have returned."""


class LaneOutputs(NamedTuple):
    """Result of a lane's cycle.

    Attributes
    ----------
    active : bool
        A register of the lane may change.
    freed : bool
        A full queue of segments has space again.
    """

    active: bool
    freed: bool


@inlined
def has_lane_space(lane: Record) -> bool:
    """Return whether the lane has space for a segment."""
    return lane.segments_level < SEGMENTS


@inlined
def offers_segment(lane: Record) -> bool:
    """Return whether a segment was pushed in this cycle."""
    return lane.segments_pushed != 0


@inlined
def push_segment(
    lane: Record, template: Record, atom: int, length: int, offset: int, wavefront: int
) -> None:
    """Push a segment of a command."""
    to = lane.segments[(lane.segments_head + lane.segments_level) & (SEGMENTS - 1)]
    make_segment(to, template, atom, length, offset, wavefront)
    lane.segments_pushed = 1


@inlined
def push_marker(lane: Record, template: Record, atom: int, wavefront: int, run_log2: int) -> None:
    """Push the END packet of a wavefront's tile as a segment."""
    to = lane.segments[(lane.segments_head + lane.segments_level) & (SEGMENTS - 1)]
    make_marking_segment(to, template, atom, wavefront, run_log2)
    lane.segments_pushed = 1


@inlined
def fill_slot(slots: Records, number: int, slot: int) -> Record:
    """Mark an egress slot of channel `number` as filled; return its packet."""
    at = slots[natural(number), natural(slot)]
    at.filled = 1
    return at.packet


@inlined
def lane_is_idle(lane: Record) -> bool:
    """Return whether the lane holds nothing."""
    return lane.slots_used | lane.has_ahead | lane.segments_level | lane.reads_level == 0


@inlined
def _expand(config: Record, slots: Records, number: int, context: int, lane: Record) -> None:
    """Make one read from the lane's first segment, and its packet in the next egress slot; an END
    packet has no read.
    """
    segment = lane.segments[natural(lane.segments_head)]
    index, tail = lane.segment_index, lane.slot_tail
    slot = slots[natural(number), natural((context << config.slot_bits) + tail)]
    if segment.kind == _END:
        slot.filled = 1
    else:
        read = lane.reads[natural((lane.reads_head + lane.reads_level) & (READS - 1))]
        make_read(read, (segment.atom + index) & config.atom_mask, tail)
        lane.reads_level += 1
    wave = (segment.offset + index) >> segment.wave_inner_log2
    make_segment_packet(
        slot.packet,
        segment,
        (segment.atom + index + segment.atom_offset) & config.atom_mask,
        (segment.wavefront + wave) & config.wavefront_mask,
    )
    lane.slot_tail = (tail + 1) & (config.slots - 1)
    lane.slots_used += 1
    lane.segment_index = index + 1
    if index + 1 == segment.length:
        lane.segment_index = 0
        lane.segments_head = (lane.segments_head + 1) & (SEGMENTS - 1)
        lane.segments_level -= 1


@inlined
def step_lane(
    config: Record,
    slots: Records,
    number: int,
    context: int,
    lane: Record,
    aborted: bool,
    read: bool,
    sent: bool,
    returned: bool,
) -> LaneOutputs:
    """Advance the lane of a context in channel `number` by one cycle.

    Parameters
    ----------
    aborted : bool
        The context is aborted.
    read, sent, returned : bool
        The oldest read goes to the DRAM; the prefetched packet leaves; data were returned into a
        slot.
    """
    used, level, reads = lane.slots_used, lane.segments_level, lane.reads_level
    head = lane.slot_head
    slot = slots[natural(number), natural((context << config.slot_bits) + head)]
    # Each memory of the slots has one port. Returned data are written first; then no atom is
    # expanded until the packet that could have left is read.
    expands = used < config.slots and level and reads < READS and not aborted and not lane.deferred
    leaves = used and slot.filled and (not lane.has_ahead or sent)
    active = expands or leaves or read or sent or returned or lane.deferred != 0
    active = active or lane.segments_pushed != 0 or (level and aborted)
    lane.deferred = leaves and (expands or returned)
    if read:
        lane.reads_head = (lane.reads_head + 1) & (READS - 1)
        lane.reads_level -= 1
    if sent:
        lane.has_ahead = 0
    if leaves and not lane.deferred:
        slot.filled = 0
        lane.slot_head = (head + 1) & (config.slots - 1)
        lane.slots_used -= 1
        lane.has_ahead = 1
        copy_record(lane.ahead, slot.packet)
    if aborted:
        lane.segment_index = 0
        if level:
            lane.segments_head = (lane.segments_head + 1) & (SEGMENTS - 1)
            lane.segments_level -= 1
    elif expands:
        _expand(config, slots, number, context, lane)
    freed = level == SEGMENTS and lane.segments_level < level
    if lane.segments_pushed:
        lane.segments_pushed = 0
        lane.segments_level += 1
    return LaneOutputs(active, freed)
