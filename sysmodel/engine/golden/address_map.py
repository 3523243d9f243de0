"""Classification of stores and the check of incoming packets."""

from rtl.interface.encodings import (
    Access,
    Action,
    Datatype,
    ErrorCode,
    Operation,
    Origin,
    PacketKind,
    StoreKind,
    Target,
)
from sysmodel.lib.compiled import inlined

from .errors import error, place_of
from .layouts import copy_data
from .queues import D, Q, back, front, mark, natural, room
from .watch import note_copy_ended, note_ended

__all__ = [
    "check_packet",
    "classify_store",
    "dispatch_index_of",
    "locate",
    "range_of",
    "takes",
]

_NONE, _REMOTE = Action.NONE.value, Action.REMOTE.value
_FP16, _SUM = Datatype.FP16.value, Operation.SUM.value
_WRITE, _UPDATE = Access.WRITE.value, Access.UPDATE.value
_COMMUNICATION = Origin.COMMUNICATION.value
_TO_WRITE, _TO_UPDATE = Target.WRITE.value, Target.UPDATE.value
_TO_REMOTE, _TO_END_OF_TILE = Target.REMOTE.value, Target.END_OF_TILE.value
_STORE, _PACKET_STORE = StoreKind.STORE.value, PacketKind.STORE.value
_STORE_LATE, _STORE_AHEAD = ErrorCode.STORE_LATE.value, ErrorCode.STORE_AHEAD.value
_PACKET_LATE, _PACKET_AHEAD = ErrorCode.PACKET_LATE.value, ErrorCode.PACKET_AHEAD.value
_PACKET_UNMAPPED = ErrorCode.PACKET_UNMAPPED.value
_PACKET_MISMATCH = ErrorCode.PACKET_MISMATCH.value
_PACKET_FORBIDDEN = ErrorCode.PACKET_FORBIDDEN.value
_PACKET_STALE, _STORE_STALE = ErrorCode.PACKET_STALE.value, ErrorCode.STORE_STALE.value


@inlined
def dispatch_index_of(config, launch, workgroup):
    """A workgroup's dispatch index, or -1 if the launch has no such workgroup."""
    if workgroup >= launch.workgroups:
        return -1
    dispatch_index = workgroup - launch.first_workgroup
    if dispatch_index < 0:
        dispatch_index += launch.workgroups
    return dispatch_index & config.dispatch_index_mask


@inlined
def range_of(s, context, region, dispatch_index):
    """Number of the context's lowest enabled range of `region` (-1: of any) with `dispatch_index`,
    or -1."""
    for index in range(s.config.ranges):
        entry = s.ranges[context, index]
        if (
            entry.enable
            and entry.first <= dispatch_index <= entry.last
            and (region < 0 or entry.region == region)
        ):
            return index
    return -1


@inlined
def locate(s, location, atom, context, workgroup):
    """First step of the lookup: note where a store or a packet belongs; gives whether that is a
    context."""
    location.owner = 0
    location.mapped = 0
    location.counted = 0
    location.valid = 0
    owner = -1
    for number in range(s.config.contexts):
        space = s.contexts[number].address_space
        if space.enable and space.local == context:
            owner = number
            break
    if owner < 0:
        return False
    location.owner = owner
    for index in range(s.config.regions):
        region = s.regions[owner, index]
        if region.base <= atom < region.limit and region.enable:
            dispatch_index = dispatch_index_of(s.config, s.contexts[owner].launch, workgroup)
            location.mapped = 1
            location.counted = s.contexts[owner].aborted == 0
            location.region = index
            location.valid = dispatch_index >= 0
            location.dispatch_index = dispatch_index
            break
    return True


@inlined
def _action(s, location):
    """Second step of the lookup.

    Returns
    -------
    action : int
    command : int
        Number of the range's command, if there is an action.
    """
    if location.valid:
        index = range_of(s, location.owner, location.region, location.dispatch_index)
        if index >= 0:
            entry = s.ranges[location.owner, index]
            return entry.action, entry.command
    return _NONE, 0


@inlined
def _is_aborted(own, location):
    """Whether it belongs to what is aborted, or was when it came."""
    return location.mapped and (own.aborted or not location.counted)


@inlined
def _is_of_launch(own, generation):
    """Whether it is of the launch that runs."""
    return own.open != 0 and own.launch.generation == generation


@inlined
def _is_of_former(own, generation):
    """Whether it is of the launch before, if that was not aborted."""
    return own.former_valid != 0 and own.former_generation == generation


@inlined
def classify_store(s, channel, levels, heads):
    """The head of the channel's ``stores``.

    Returns
    -------
    popped, pushed : int
    error : int
        With its place in the channel's ``places``, likewise.
    """
    if not room(levels, Q.classified, D.classified):
        return 0, 0, 0
    head = channel.stores[front(heads, Q.stores)]
    store = head.store
    wavefront = store.wavefront
    dispatch_index = head.location.dispatch_index
    owner = natural(head.location.owner)
    own = s.contexts[owner]
    action, command = _action(s, head.location)
    channel.places[0] = place_of(store.atom, 0, channel.number, False)
    if action != _NONE and _is_aborted(own, head.location):
        note_ended(channel, owner, head.location.counted)
        return mark(Q.stores), 0, 0
    if action != _NONE and not _is_of_launch(own, store.generation):
        note_ended(channel, owner, head.location.counted)
        return mark(Q.stores), 0, error(_STORE_STALE, owner, dispatch_index, wavefront)
    ends = store.kind != _STORE
    if action == _NONE or action == _REMOTE:
        if ends:
            note_ended(channel, owner, head.location.counted)
            return mark(Q.stores), 0, 0
        target = _TO_WRITE if action == _NONE else _TO_REMOTE
    else:
        if dispatch_index < own.oldest:
            note_ended(channel, owner, head.location.counted)
            return mark(Q.stores), 0, error(_STORE_LATE, owner, dispatch_index, wavefront)
        if dispatch_index >= own.credit_limit:
            note_ended(channel, owner, head.location.counted)
            return mark(Q.stores), 0, error(_STORE_AHEAD, owner, dispatch_index, wavefront)
        target = _TO_END_OF_TILE if ends else _TO_UPDATE
    if target == _TO_WRITE:
        note_ended(channel, owner, head.location.counted)
    to = channel.classified[back(levels, heads, Q.classified)]
    to.target = target
    to.owner = owner
    to.atom = store.atom
    to.generation = store.generation
    to.workgroup = store.workgroup
    to.dispatch_index = dispatch_index
    to.wavefront = wavefront
    to.tile_atoms = store.tile_atoms
    to.outer_edge = store.outer_edge
    to.inner_edge = store.inner_edge
    to.command = command
    entry = s.commands[owner, command]
    to.op = entry.op
    to.dtype = entry.dtype
    copy_data(s, to, store)
    return mark(Q.stores), mark(Q.classified), 0


@inlined
def takes(own, packet, source):
    """Whether a context takes such packets of such a GPU at all."""
    inbound = own.inbound
    if packet.kind == _PACKET_STORE:
        return inbound.stores >> source & 1 != 0
    of_kind = inbound.ops >> packet.op & inbound.dtypes >> packet.dtype & 1
    return inbound.updates >> source & of_kind & 1 != 0


@inlined
def _end_packet(channel, owner, store, counted):
    """A packet that is dropped is no longer under way."""
    if store:
        note_copy_ended(channel, owner, counted)
    else:
        note_ended(channel, owner, counted)


@inlined
def check_packet(s, channel, levels, heads):
    """The head of ``inbound``, likewise."""
    if not room(levels, Q.updates, D.updates):
        return 0, 0, 0
    head = channel.inbound[front(heads, Q.inbound)]
    packet = head.packet
    dispatch_index = head.location.dispatch_index
    owner = natural(head.location.owner)
    own = s.contexts[owner]
    action, command = _action(s, head.location)
    counted = head.location.counted
    store = packet.kind == _PACKET_STORE
    if _is_aborted(own, head.location):
        _end_packet(channel, owner, store, counted)
        return mark(Q.inbound), 0, 0
    entry = s.commands[owner, command]
    stale = not _is_of_launch(own, packet.generation)
    if store:
        stale = stale and not _is_of_former(own, packet.generation)
    code = 0
    if head.location.mapped and head.forbidden:
        code = _PACKET_FORBIDDEN
    elif head.location.mapped and stale:
        code = _PACKET_STALE
    elif store:
        code = 0 if head.location.mapped else _PACKET_UNMAPPED
    elif action == _NONE or action == _REMOTE:
        code = _PACKET_UNMAPPED
    elif packet.op != entry.op or packet.dtype != entry.dtype:
        code = _PACKET_MISMATCH
    elif dispatch_index < own.oldest:
        code = _PACKET_LATE
    elif dispatch_index >= own.credit_limit:
        code = _PACKET_AHEAD
    if code:
        _end_packet(channel, owner, store, counted)
        channel.places[1] = place_of(packet.atom, head.source, channel.number, head.stray)
        return mark(Q.inbound), 0, error(code, owner, packet.workgroup, packet.wavefront)
    to = channel.updates[back(levels, heads, Q.updates)]
    to.origin = _COMMUNICATION
    to.atom = packet.atom
    to.tag = 0
    to.owner = owner
    if store:
        to.access = _WRITE
        to.dispatch_index = 0
        to.wavefront = 0
        to.op = _SUM
        to.dtype = _FP16
    else:
        to.access = _UPDATE
        to.dispatch_index = dispatch_index
        to.wavefront = packet.wavefront
        to.op = packet.op
        to.dtype = packet.dtype
    copy_data(s, to, packet)
    return mark(Q.inbound), mark(Q.updates), 0
