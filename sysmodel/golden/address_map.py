"""Classification of stores and the check of incoming packets."""

from rtl.layouts import (
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
from sysmodel.compiled import compiled, inlined

from .queues import D, Q, back, copy_words, front, mark, natural, room
from .state import CLASSIFIED, COMMAND, DATA_WORDS, DRAM, PACKET, RANGE, STORE, WINDOW, C, U

__all__ = ["check_packet", "classify_store", "error", "lookup", "place_of", "range_of"]

_NONE, _REMOTE = Action.NONE.value, Action.REMOTE.value
_FP16, _SUM = Datatype.FP16.value, Operation.SUM.value
_WRITE, _UPDATE = Access.WRITE.value, Access.UPDATE.value
_COMMUNICATION = Origin.COMMUNICATION.value
_TO_WRITE, _TO_UPDATE = Target.WRITE.value, Target.UPDATE.value
_TO_REMOTE, _TO_TILE_END = Target.REMOTE.value, Target.TILE_END.value
_STORE, _PACKET_STORE = StoreKind.STORE.value, PacketKind.STORE.value
_STORE_LATE, _STORE_AHEAD = ErrorCode.STORE_LATE.value, ErrorCode.STORE_AHEAD.value
_PACKET_LATE, _PACKET_AHEAD = ErrorCode.PACKET_LATE.value, ErrorCode.PACKET_AHEAD.value
_PACKET_UNMAPPED = ErrorCode.PACKET_UNMAPPED.value


@inlined
def error(code, place, wavefront):
    """An error report in one word; no error is 0."""
    return code | wavefront << 8 | place << 24


@inlined
def place_of(config, workgroup):
    """A workgroup's place, or -1 if the compiled has no such workgroup."""
    if workgroup >= config[C.workgroups]:
        return -1
    place = workgroup - config[C.first_workgroup]
    if place < 0:
        place += config[C.workgroups]
    return place & config[C.place_mask]


@inlined
def range_of(config, window, place):
    """Where the lowest enabled range of `window` (-1: of any) with `place` is, or -1."""
    at = natural(config[C.at_ranges])
    for _ in range(config[C.ranges]):
        if (
            config[at + RANGE.enable]
            and config[at + RANGE.first] <= place <= config[at + RANGE.last]
            and (window < 0 or config[at + RANGE.window] == window)
        ):
            return at
        at = natural(at + len(RANGE))
    return -1


@inlined
def lookup(config, atom, context, workgroup):
    """Window, place and action of an address.

    Returns
    -------
    window : int
        The lowest that fits, or -1.
    place, action : int
    command : int
        Where the range's command entry is, if there is an action.
    """
    at = natural(config[C.at_windows])
    window = -1
    for index in range(config[C.windows]):
        if (
            config[at + WINDOW.base] <= atom < config[at + WINDOW.limit]
            and config[at + WINDOW.context] == context
            and config[at + WINDOW.enable]
        ):
            window = index
            break
        at = natural(at + len(WINDOW))
    if window < 0:
        return -1, -1, _NONE, -1
    place = place_of(config, workgroup)
    entry = range_of(config, window, place) if place >= 0 else -1
    if entry < 0:
        return window, place, _NONE, -1
    command = natural(config[C.at_commands] + config[entry + RANGE.command] * len(COMMAND))
    return window, place, config[entry + RANGE.action], command


@compiled
def classify_store(s, body, levels, heads):
    """The head of ``stores`` of the channel whose queues are at word `body`.

    Returns
    -------
    popped, pushed : int
    error : int
    """
    config, channel = s.config, s.channels
    store = front(body, heads, Q.stores)
    atom = channel[store + STORE.atom]
    wavefront = channel[store + STORE.wavefront]
    _, place, action, command = lookup(
        config, atom, channel[store + STORE.context], channel[store + STORE.workgroup]
    )
    ends = channel[store + STORE.kind] != _STORE
    if action == _NONE or action == _REMOTE:
        if ends:
            return mark(Q.stores), 0, 0
        target = _TO_WRITE if action == _NONE else _TO_REMOTE
    else:
        if place < s.gpu[U.base]:
            return mark(Q.stores), 0, error(_STORE_LATE, place, wavefront)
        if place >= s.gpu[U.limit]:
            return mark(Q.stores), 0, error(_STORE_AHEAD, place, wavefront)
        target = _TO_TILE_END if ends else _TO_UPDATE
    if not room(levels, Q.classified, D.classified):
        return 0, 0, 0

    to = back(body, levels, heads, Q.classified)
    channel[to + CLASSIFIED.target] = target
    channel[to + CLASSIFIED.atom] = atom
    channel[to + CLASSIFIED.context] = channel[store + STORE.context]
    channel[to + CLASSIFIED.workgroup] = channel[store + STORE.workgroup]
    channel[to + CLASSIFIED.place] = place
    channel[to + CLASSIFIED.wavefront] = wavefront
    channel[to + CLASSIFIED.sectors] = channel[store + STORE.sectors]
    channel[to + CLASSIFIED.row_edge] = channel[store + STORE.row_edge]
    channel[to + CLASSIFIED.run_edge] = channel[store + STORE.run_edge]
    if command >= 0:
        channel[to + CLASSIFIED.packet_kind] = config[command + COMMAND.kind]
        channel[to + CLASSIFIED.op] = config[command + COMMAND.op]
        channel[to + CLASSIFIED.dtype] = config[command + COMMAND.dtype]
        if target == _TO_REMOTE:
            moved = atom + config[command + COMMAND.atom_offset]
            channel[to + CLASSIFIED.atom] = moved & config[C.atom_mask]
            channel[to + CLASSIFIED.context] = config[command + COMMAND.context]
    if config[C.payload]:
        copy_words(channel, to + CLASSIFIED.data_0, channel, store + STORE.data_0, DATA_WORDS)
    return mark(Q.stores), mark(Q.classified), 0


@compiled
def check_packet(s, body, levels, heads):
    """The head of ``inbound``, likewise."""
    config, channel = s.config, s.channels
    packet = front(body, heads, Q.inbound)
    atom = channel[packet + PACKET.atom]
    workgroup = channel[packet + PACKET.workgroup]
    wavefront = channel[packet + PACKET.wavefront]
    window, place, action, _ = lookup(config, atom, channel[packet + PACKET.context], workgroup)
    store = channel[packet + PACKET.kind] == _PACKET_STORE
    code = 0
    if store:
        code = _PACKET_UNMAPPED if window < 0 else 0
    elif action == _NONE or action == _REMOTE:
        code = _PACKET_UNMAPPED
    elif place < s.gpu[U.base]:
        code = _PACKET_LATE
    elif place >= s.gpu[U.limit]:
        code = _PACKET_AHEAD
    if code:
        return mark(Q.inbound), 0, error(code, workgroup, wavefront)
    if not room(levels, Q.updates, D.updates):
        return 0, 0, 0

    to = back(body, levels, heads, Q.updates)
    channel[to + DRAM.origin] = _COMMUNICATION
    channel[to + DRAM.atom] = atom
    channel[to + DRAM.tag] = 0
    if store:
        channel[to + DRAM.access] = _WRITE
        channel[to + DRAM.place] = 0
        channel[to + DRAM.wavefront] = 0
        channel[to + DRAM.op] = _SUM
        channel[to + DRAM.dtype] = _FP16
    else:
        channel[to + DRAM.access] = _UPDATE
        channel[to + DRAM.place] = place
        channel[to + DRAM.wavefront] = wavefront
        channel[to + DRAM.op] = channel[packet + PACKET.op]
        channel[to + DRAM.dtype] = channel[packet + PACKET.dtype]
    if config[C.payload]:
        copy_words(channel, to + DRAM.data_0, channel, packet + PACKET.data_0, DATA_WORDS)
    return mark(Q.inbound), mark(Q.updates), 0
