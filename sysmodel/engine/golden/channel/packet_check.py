"""Packet check: turns a packet into a DRAM request, or reports a packet that no launch accepts."""

from rtl.interface.encodings import ErrorCode, Origin, PacketKind
from sysmodel.lib.compiled import inlined

from ..index import natural
from ..payloads.accesses import make_update_request, make_write_request, place_update
from ..payloads.tiles import make_arrived_marker
from ..records import Record
from ..registers.errors import error, place_of
from ..state import GoldenState
from .address_map import action_of, has_wavefront, is_aborted, is_tracked
from .end_queue import OF_PACKET
from .outstanding import note_begun, note_write_begun
from .queues import D, Q, back, front, has_space, mark
from .store_check import is_of_launch

__all__ = ["check_packet"]

_COMMUNICATION = Origin.COMMUNICATION.value
_STORE, _UPDATE = PacketKind.STORE.value, PacketKind.UPDATE.value
_END, _PLACE = PacketKind.END.value, PacketKind.PLACE.value
_LATE, _AHEAD = ErrorCode.PACKET_LATE.value, ErrorCode.PACKET_AHEAD.value
_UNMAPPED, _MISMATCH = ErrorCode.PACKET_UNMAPPED.value, ErrorCode.PACKET_MISMATCH.value
_FORBIDDEN, _STALE = ErrorCode.PACKET_FORBIDDEN.value, ErrorCode.PACKET_STALE.value


@inlined
def _is_permitted(config: Record, own: Record, packet: Record) -> bool:
    """Return whether a context accepts packets of this kind from one of its peers."""
    stores = updates = 0
    for index in range(config.peers):
        peer = own.peers[index]
        if peer.enable and peer.rank == packet.source:
            stores |= peer.takes_stores
            updates |= peer.takes_updates
    if packet.kind == _STORE or packet.kind == _PLACE:
        return stores != 0
    if packet.kind == _END:
        return stores | updates != 0
    inbound = own.inbound
    of_kind = inbound.ops >> packet.op & inbound.dtypes >> packet.dtype & 1
    return updates & of_kind != 0


@inlined
def _is_stale(own: Record, packet: Record, store: bool) -> bool:
    """Return whether a packet belongs to no launch that may still send. For a plain write, the
    running launch and the previous launch, if it was not aborted, may send.
    """
    control = own.control
    if is_of_launch(control, own.launch, packet.generation):
        return False
    former = control.former_valid != 0 and control.former_generation == packet.generation
    return not (store and former)


@inlined
def _code(
    own: Record,
    command: Record,
    arrival: Record,
    permitted: bool,
    tracked: bool,
    dispatch_index: int,
    store: bool,
) -> int:
    """Return the code of a packet's error, or 0; ``command`` is that of the packet's range."""
    packet, mapped = arrival.packet, arrival.location.mapped
    if mapped and not permitted:
        return _FORBIDDEN
    if mapped and (arrival.early or _is_stale(own, packet, store)):
        return _STALE
    if store:
        return 0 if mapped else _UNMAPPED
    if not tracked:
        return _UNMAPPED
    differs = packet.op != command.op or packet.dtype != command.dtype
    if packet.kind == _UPDATE and differs:
        return _MISMATCH
    if not has_wavefront(command, packet.wavefront):
        return _MISMATCH
    if dispatch_index < own.window.oldest:
        return _LATE
    return _AHEAD if dispatch_index >= own.window.credit_limit else 0


@inlined
def check_packet(
    s: GoldenState, channel: Record, queued: int, heads: int, marker: int
) -> tuple[int, int, int, int]:
    """Move the head of ``inbound`` to ``updates``, or an end-of-tile marker to ``ends``, whose next
    ``marker`` is that of a store or of a packet; or drop it.

    Returns
    -------
    popped, pushed : int
    failure, place : int
        Error of the packet, and its place; 0 without an error.
    """
    head = channel.inbound[front(heads, Q.inbound)]
    packet, location = head.packet, head.location
    end = packet.kind == _END
    if end:
        if marker != OF_PACKET:
            return 0, 0, 0, 0
    elif not has_space(queued, Q.updates, D.updates):
        return 0, 0, 0, 0
    dispatch_index = packet.slot
    owner = natural(location.owner)
    own = s.contexts[owner]
    action, number, shares = action_of(s, location, dispatch_index, end)
    store = packet.kind == _STORE
    if is_aborted(own, location):
        return mark(Q.inbound), 0, 0, 0
    command = s.commands[owner, s.ranges[owner, number].command]
    permitted, tracked = _is_permitted(s.config, own, packet), is_tracked(action, shares)
    code = _code(own, command, head, permitted, tracked, dispatch_index, store)
    if code:
        failure = error(code, owner, dispatch_index, packet.wavefront)
        place = place_of(packet.atom, packet.source, channel.number, head.unowned)
        return mark(Q.inbound), 0, failure, place
    if store:
        note_write_begun(channel, owner)
    else:
        note_begun(channel, owner, True)
    if end:
        to = channel.ends[back(queued, heads, Q.ends)]
        make_arrived_marker(s.config, to, owner, dispatch_index, packet, shares)
        return mark(Q.inbound), mark(Q.ends), 0, 0
    to = channel.updates[back(queued, heads, Q.updates)]
    if store:
        make_write_request(s.config, to, _COMMUNICATION, owner, packet)
    else:
        make_update_request(s.config, to, _COMMUNICATION, owner, dispatch_index, packet)
        if packet.kind == _PLACE:
            place_update(to)
    return mark(Q.inbound), mark(Q.updates), 0, 0
