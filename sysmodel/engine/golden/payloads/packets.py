"""Packets: those that arrive from the link, and those that leave for it."""

from rtl.interface.encodings import PacketKind
from sysmodel.lib.compiled import inlined

from ..records import Record
from .data import copy_data
from .markers import packed_marker

__all__ = ["address_link_packet", "make_packet", "make_segment_packet", "note_arrival", "sent_kind"]

_STORE = PacketKind.STORE.value
_END = PacketKind.END.value
_OF_UPDATES = PacketKind.UPDATE.value
_OF_TRACKED = PacketKind.PLACE.value


@inlined
def note_arrival(arrival: Record, unowned: bool, early: bool) -> None:
    """Record whether no context owns a packet, and whether its context has no launch."""
    arrival.unowned = unowned
    arrival.early = early


@inlined
def sent_kind(command: Record, marks: int) -> int:
    """Return the kind of a command's packets: the receiver tracks stores with markers."""
    if command.kind != _STORE:
        return _OF_UPDATES
    return _OF_TRACKED if marks else _STORE


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
    copy_data(config, to, store)


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
    copy_data(config, sent, packet)
    to.owner = owner
