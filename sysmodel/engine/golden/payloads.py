"""Payloads: the records that blocks pass to each other, and the functions that make them.

The fields of a record are those of the hardware's layout of the same name.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from amaranth.lib import data

from rtl.interface import configuration, layouts
from rtl.interface.encodings import Access, Datatype, Operation, PacketKind
from rtl.parameters import T3Parameters
from sysmodel.lib.compiled import inlined

from .records import Record, Words, copy_record, fields_of, record

__all__ = [
    "ADDRESS_SPACE",
    "ARBITER",
    "CANDIDATE",
    "CLASSIFIED",
    "COMMAND",
    "COMPLETION",
    "COPY",
    "DATA_WORDS",
    "DRAM_REQUEST",
    "INBOUND",
    "ISSUE_ACK",
    "LAUNCH",
    "LINK_PACKET",
    "LOCATED_PACKET",
    "LOCATED_STORE",
    "LOCATION",
    "MOST_PEERS",
    "NMC_RESULT",
    "PACKET",
    "PEER",
    "RANGE",
    "READ",
    "READY",
    "REGION",
    "SEGMENT",
    "STORE",
    "TILE",
    "UPDATES",
    "add_update",
    "address_link_packet",
    "assign_epoch",
    "assign_rank",
    "assign_run",
    "assign_slot",
    "disable_entry",
    "load_data",
    "make_address_space",
    "make_arrived_marker",
    "make_candidate",
    "make_classified",
    "make_command",
    "make_completion",
    "make_copy",
    "make_gate",
    "make_issue_ack",
    "make_launch",
    "make_location",
    "make_marker",
    "make_marking_segment",
    "make_packet",
    "make_peer",
    "make_range",
    "make_read",
    "make_read_request",
    "make_ready",
    "make_region",
    "make_segment",
    "make_segment_packet",
    "make_segment_template",
    "make_tile",
    "make_update_request",
    "make_updates",
    "make_write_request",
    "note_arrival",
    "packed_marker",
    "place_update",
    "sent_kind",
]


def _record(layout: Callable[[T3Parameters], data.StructLayout]) -> np.dtype[Any]:
    return record(fields_of(layout(T3Parameters(contexts=1, with_data=True))))


READ = _record(layouts.ReadRequest)
STORE = _record(layouts.StoreRequest)
LOCATION = _record(layouts.Location)
CLASSIFIED = _record(layouts.Classified)
PACKET = _record(layouts.Packet)
_ON_LINK = _record(layouts.LinkPacket)
DRAM_REQUEST = _record(layouts.DramRequest)
ISSUE_ACK = _record(layouts.IssueAck)
UPDATES = _record(layouts.TileUpdates)
TILE = _record(layouts.TrackerInput)
COMPLETION = _record(layouts.Completion)
READY = _record(layouts.ReadyCommand)
COPY = _record(layouts.Copy)
SEGMENT = _record(layouts.Segment)
NMC_RESULT = _record(layouts.NmcResult)
REGION = _record(configuration.RegionEntry)
RANGE = _record(configuration.RangeEntry)
COMMAND = _record(configuration.CommandEntry)
LAUNCH = _record(configuration.LaunchConfiguration)
ADDRESS_SPACE = _record(configuration.AddressSpace)
PEER = _record(configuration.PeerEntry)
INBOUND = _record(lambda p: configuration.Inbound())
ARBITER = _record(configuration.ArbiterConfiguration)
DATA_WORDS: int = PACKET["data"].shape[0]
MOST_PEERS: int = T3Parameters(contexts=1).peers
"""Entries of a context's table of peers in the state; an instance may use fewer."""

LOCATED_STORE = record([("store", STORE), ("location", LOCATION)])
"""Store with the result of the first step of the address map."""
LOCATED_PACKET = record([("packet", _ON_LINK), ("location", LOCATION)], "unowned early")
"""Packet from the link with the result of the first step of the address map."""
CANDIDATE = record([("tile", TILE)], "bank")
"""Event of a tile with the number of its tracker bank."""
LINK_PACKET = record([("packet", _ON_LINK)], "owner")
"""Packet for the link, with its context."""

_STORE, _END = PacketKind.STORE.value, PacketKind.END.value
_OF_UPDATES, _OF_TRACKED = PacketKind.UPDATE.value, PacketKind.PLACE.value
_READ, _WRITE, _UPDATE = Access.READ.value, Access.WRITE.value, Access.UPDATE.value
_PLACE = Access.PLACE.value
_SUM, _FP16 = Operation.SUM.value, Datatype.FP16.value


@inlined
def _copy_data(config: Record, to: Record, source: Record) -> None:
    """Copy an atom's data between records of different kinds, if the hardware has data."""
    if config.with_data:
        for word in range(DATA_WORDS):
            to.data[word] = source.data[word]


@inlined
def _copy_marker(to: Record, source: Record) -> None:
    """Copy the content of an end-of-tile marker between records of different kinds."""
    to.tile_atoms = source.tile_atoms
    to.outer_edge = source.outer_edge
    to.inner_edge = source.inner_edge
    to.shares = source.shares


@inlined
def packed_marker(
    config: Record, tile_atoms: int, outer_edge: int, inner_edge: int, shares: int
) -> int:
    """Return the content of an end-of-tile marker as the address of an END packet."""
    edges = outer_edge | inner_edge << 1
    return tile_atoms | (edges | shares << 2) << config.tile_atom_bits


@inlined
def load_data(config: Record, to: Record, words: Words, at: int) -> None:
    """Load an atom's data from words of an array, if the hardware has data."""
    if config.with_data:
        for word in range(DATA_WORDS):
            to.data[word] = words[at + word]


@inlined
def make_read(to: Record, atom: int, tag: int) -> None:
    """Make a read of one atom."""
    to.atom = atom
    to.tag = tag


@inlined
def make_location(
    to: Record,
    owner: int,
    mapped: bool,
    counted: bool,
    region: int,
    valid: bool,
) -> None:
    """Make a location; ``valid``: the launch has the dispatch index."""
    to.owner = owner
    to.mapped = mapped
    to.counted = counted
    to.region = region
    to.valid = valid


@inlined
def make_classified(
    config: Record,
    to: Record,
    store: Record,
    target: int,
    owner: int,
    shares: int,
    number: int,
    command: Record,
) -> None:
    """Make a classified store; ``shares`` and ``command`` are those of its range, which has this
    ``number``.
    """
    to.target = target
    to.end = store.kind
    to.owner = owner
    to.atom = store.atom
    to.generation = store.generation
    to.dispatch_index = store.dispatch_index
    to.wavefront = store.wavefront
    _copy_marker(to, store)
    to.total = shares
    to.range = number
    to.op = command.op
    to.dtype = command.dtype
    _copy_data(config, to, store)


@inlined
def note_arrival(arrival: Record, unowned: bool, early: bool) -> None:
    """Record whether no context owns a packet, and whether its context has no launch."""
    arrival.unowned = unowned
    arrival.early = early


@inlined
def make_packet(
    config: Record,
    to: Record,
    store: Record,
    command: Record,
    atom: int,
    peers: int,
    slot: int,
) -> None:
    """Make the packet of a classified store for each of these ``peers``, to an atom of the
    receiver's address space, of the tile with its ``slot``; or the END packet of a marker.
    """
    to.kind = sent_kind(command, command.marks)
    to.atom = atom
    if store.end:
        to.kind = _END
        to.atom = packed_marker(
            config, store.tile_atoms, store.outer_edge, store.inner_edge, store.shares
        )
    to.peers = peers
    to.generation = store.generation
    to.slot = slot
    to.wavefront = store.wavefront
    to.op = store.op
    to.dtype = store.dtype
    _copy_data(config, to, store)


@inlined
def make_segment_packet(to: Record, segment: Record, atom: int, wavefront: int) -> None:
    """Make the packet of an atom of a segment; its data follow later."""
    to.kind = segment.kind
    to.atom = atom
    to.peers = segment.peers
    to.generation = segment.generation
    to.slot = segment.slot
    to.wavefront = wavefront
    to.op = segment.op
    to.dtype = segment.dtype


@inlined
def address_link_packet(
    config: Record, to: Record, packet: Record, owner: int, rank: int, peer: Record
) -> None:
    """Make the copy of a packet of the context ``owner`` for a peer; the context has this
    ``rank``.
    """
    sent = to.packet
    sent.destination = peer.gpu
    sent.source = rank
    sent.context = peer.space
    sent.kind = packet.kind
    sent.atom = packet.atom
    sent.generation = packet.generation
    sent.slot = packet.slot
    sent.wavefront = packet.wavefront
    sent.op = packet.op
    sent.dtype = packet.dtype
    _copy_data(config, sent, packet)
    to.owner = owner


@inlined
def make_read_request(to: Record, origin: int, atom: int, tag: int, owner: int) -> None:
    """Make the DRAM request of a read."""
    to.access = _READ
    to.origin = origin
    to.atom = atom
    to.tag = tag
    to.owner = owner
    to.dispatch_index = 0
    to.wavefront = 0
    to.op = _SUM
    to.dtype = _FP16
    for word in range(DATA_WORDS):
        to.data[word] = 0


@inlined
def make_write_request(config: Record, to: Record, origin: int, owner: int, source: Record) -> None:
    """Make the DRAM request of a plain write."""
    to.access = _WRITE
    to.origin = origin
    to.atom = source.atom
    to.tag = 0
    to.owner = owner
    to.dispatch_index = 0
    to.wavefront = 0
    to.op = _SUM
    to.dtype = _FP16
    _copy_data(config, to, source)


@inlined
def make_update_request(
    config: Record, to: Record, origin: int, owner: int, dispatch_index: int, source: Record
) -> None:
    """Make the DRAM request of an update."""
    to.access = _UPDATE
    to.origin = origin
    to.atom = source.atom
    to.tag = 0
    to.owner = owner
    to.dispatch_index = dispatch_index
    to.wavefront = source.wavefront
    to.op = source.op
    to.dtype = source.dtype
    _copy_data(config, to, source)


@inlined
def place_update(to: Record) -> None:
    """Turn the request of an update into that of a write that the tracker counts."""
    to.access = _PLACE


@inlined
def sent_kind(command: Record, marks: int) -> int:
    """Return the kind of a command's packets: the receiver tracks stores with markers."""
    if command.kind != _STORE:
        return _OF_UPDATES
    return _OF_TRACKED if marks else _STORE


@inlined
def make_issue_ack(to: Record, atom: int, owner: int, dispatch_index: int, wavefront: int) -> None:
    """Make an issue acknowledgement of an update."""
    to.atom = atom
    to.owner = owner
    to.dispatch_index = dispatch_index
    to.wavefront = wavefront


@inlined
def make_updates(to: Record, atom: int, owner: int, dispatch_index: int, wavefront: int) -> None:
    """Make an event of one update of a tile."""
    to.atom = atom
    to.owner = owner
    to.dispatch_index = dispatch_index
    to.wavefront = wavefront
    to.count = 1


@inlined
def add_update(event: Record, atom: int) -> None:
    """Add one more update to an event of its tile."""
    event.count += 1
    event.atom = min(event.atom, atom)


@inlined
def make_marker(to: Record, owner: int, store: Record) -> None:
    """Make the tracker's event of an end-of-tile marker."""
    to.end = 1
    to.owner = owner
    to.dispatch_index = store.dispatch_index
    to.wavefront = store.wavefront
    to.atom = 0
    to.count = 0
    to.total = store.total
    _copy_marker(to, store)


@inlined
def make_arrived_marker(
    config: Record, to: Record, owner: int, dispatch_index: int, packet: Record, shares: int
) -> None:
    """Make the tracker's event of an END packet in a range of ``shares``."""
    to.end = 1
    to.owner = owner
    to.dispatch_index = dispatch_index
    to.wavefront = packet.wavefront
    to.atom = 0
    to.count = 0
    above = packet.atom >> config.tile_atom_bits
    to.tile_atoms = packet.atom & (1 << config.tile_atom_bits) - 1
    to.outer_edge, to.inner_edge = above & 1, above >> 1 & 1
    to.shares = above >> 2 & config.share_mask
    to.total = shares


@inlined
def make_tile(to: Record, updates: Record) -> None:
    """Make the tracker's event of issued updates."""
    to.end = 0
    to.owner = updates.owner
    to.dispatch_index = updates.dispatch_index
    to.wavefront = updates.wavefront
    to.atom = updates.atom
    to.count = updates.count
    to.tile_atoms = 0
    to.outer_edge = 0
    to.inner_edge = 0
    to.shares = 0
    to.total = 0


@inlined
def make_completion(to: Record, tile: Record, start: int, outer_edge: int, inner_edge: int) -> None:
    """Make the completion of a tile."""
    to.owner = tile.owner
    to.dispatch_index = tile.dispatch_index
    to.wavefront = tile.wavefront
    to.start = start
    to.outer_edge = outer_edge
    to.inner_edge = inner_edge


@inlined
def make_ready(
    to: Record,
    number: int,
    dispatch_index: int,
    wavefront: int,
    start: int,
    outer_edge: int,
    inner_edge: int,
    last: int,
) -> None:
    """Make a ready command of the range with this ``number``."""
    to.range = number
    to.dispatch_index = dispatch_index
    to.wavefront = wavefront
    to.start = start
    to.outer_edge = outer_edge
    to.inner_edge = inner_edge
    to.last = last


@inlined
def make_candidate(to: Record, bank: int) -> None:
    """Set the tracker bank of a candidate whose tile is already set."""
    to.bank = bank


@inlined
def make_copy(to: Record, command: Record, region: Record, start: int, peers: int) -> None:
    """Make a copy to these peers, of a command and its region as they are programmed now."""
    copy_record(to.command, command)
    copy_record(to.region, region)
    to.start = start
    to.peers = peers


@inlined
def make_segment_template(
    to: Record, command: Record, marks: int, peers: int, generation: int, run_log2: int
) -> None:
    """Make the segment of a command for these peers, without its slot and its place; ``marks``: it
    marks tiles."""
    to.wave_inner_log2 = run_log2
    to.slot = 0
    to.peers = peers
    to.generation = generation
    to.kind = sent_kind(command, marks)
    to.op = command.op
    to.dtype = command.dtype
    to.atom_offset = command.atom_offset


@inlined
def assign_slot(to: Record, slot: int) -> None:
    """Set the slot of a command's segments."""
    to.slot = slot


@inlined
def assign_run(to: Record, run_log2: int) -> None:
    """Set the length of a wavefront's run in a command's segments."""
    to.wave_inner_log2 = run_log2


@inlined
def make_segment(
    to: Record, template: Record, atom: int, length: int, offset: int, wavefront: int
) -> None:
    """Make a segment of a command."""
    copy_record(to, template)
    to.atom = atom
    to.length = length
    to.offset = offset
    to.wavefront = wavefront


@inlined
def make_marking_segment(
    to: Record, template: Record, atom: int, wavefront: int, run_log2: int
) -> None:
    """Make the segment of an END packet, whose ``atom`` is the content of its marker."""
    make_segment(to, template, atom, 1, 0, wavefront)
    to.kind = _END
    to.atom_offset = 0
    to.wave_inner_log2 = run_log2


@inlined
def make_region(to: Record, enable: int, base: int, limit: int) -> None:
    """Make an entry of the table of regions."""
    to.enable = enable
    to.base = base
    to.limit = limit


@inlined
def make_range(
    to: Record,
    enable: int,
    region: int,
    first: int,
    last: int,
    action: int,
    command: int,
    shares: int,
    peers: int,
    slot_offset: int,
) -> None:
    """Make an entry of the table of ranges, apart from its gate."""
    to.enable = enable
    to.region = region
    to.first = first
    to.last = last
    to.action = action
    to.command = command
    to.shares = shares
    to.peers = peers
    to.slot_offset = slot_offset


@inlined
def make_gate(
    to: Record,
    enable: int,
    context: int,
    generation: int,
    slot: int,
    workgroups: int,
    slots: int,
) -> None:
    """Make the gate of a range."""
    to.enable = enable
    to.context = context
    to.generation = generation
    to.slot = slot
    to.workgroups = workgroups
    to.slots = slots


@inlined
def make_peer(
    to: Record,
    enable: int,
    gpu: int,
    rank: int,
    space: int,
    sends_stores: int,
    sends_updates: int,
    takes_stores: int,
    takes_updates: int,
) -> None:
    """Make an entry of the table of peers."""
    to.enable = enable
    to.gpu = gpu
    to.rank = rank
    to.space = space
    to.sends_stores = sends_stores
    to.sends_updates = sends_updates
    to.takes_stores = takes_stores
    to.takes_updates = takes_updates


@inlined
def disable_entry(to: Record) -> None:
    """Disable an entry of a table."""
    to.enable = 0


@inlined
def make_command(
    to: Record,
    kind: int,
    marks: int,
    op: int,
    dtype: int,
    atom_offset: int,
    granularity: int,
    group_log2: int,
    outer_extent: int,
    outer_extent_edge: int,
    inner_extent: int,
    inner_extent_edge: int,
    stride: int,
    region: int,
    wave_outer_extent: int,
    wave_inner_log2: int,
    waves_inner_log2: int,
    waves: tuple[int, int, int, int],
) -> None:
    """Make an entry of the table of commands."""
    to.kind = kind
    to.marks = marks
    to.op = op
    to.dtype = dtype
    to.atom_offset = atom_offset
    to.granularity = granularity
    to.group_log2 = group_log2
    to.outer_extent = outer_extent
    to.outer_extent_edge = outer_extent_edge
    to.inner_extent = inner_extent
    to.inner_extent_edge = inner_extent_edge
    to.stride = stride
    to.region = region
    to.wave_outer_extent = wave_outer_extent
    to.wave_inner_log2 = wave_inner_log2
    to.waves_inner_log2 = waves_inner_log2
    to.waves[0] = waves[0]
    to.waves[1] = waves[1]
    to.waves[2] = waves[2]
    to.waves[3] = waves[3]


@inlined
def make_launch(
    to: Record,
    workgroups: int,
    tracked_first: int,
    tracked_end: int,
    to_send: int,
    credit_window: int,
    command_window: int,
    timeout: int,
    generation: int,
    accumulate: int,
    reports: int,
    report_log2: int,
) -> None:
    """Make the configuration of a launch, without its epoch."""
    to.workgroups = workgroups
    to.tracked_first = tracked_first
    to.tracked_end = tracked_end
    to.to_send = to_send
    to.credit_window = credit_window
    to.command_window = command_window
    to.timeout = timeout
    to.generation = generation
    to.accumulate = accumulate
    to.reports = reports
    to.report_log2 = report_log2


@inlined
def assign_epoch(to: Record, epoch: int) -> None:
    """Set the epoch of a launch, or of an NMC result."""
    to.epoch = epoch


@inlined
def assign_rank(to: Record, rank: int) -> None:
    """Set the rank of a context's GPU."""
    to.rank = rank


@inlined
def make_address_space(to: Record, enable: int, local: int) -> None:
    """Make the configuration of an address space."""
    to.enable = enable
    to.local = local
