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
from sysmodel.lib.compiled import compiled, inlined

from .queues import RECORD_WORDS, D, Q, back, copy_words, front, mark, natural, room
from .state import (
    CLASSIFIED,
    COMMAND,
    DATA_WORDS,
    DRAM,
    LOCATION,
    PACKET,
    RANGE,
    REGION,
    STORE,
    C,
    U,
)

__all__ = ["check_packet", "classify_store", "error", "locate", "dispatch_index_of", "range_of"]

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
# A location is kept at the end of the record of its store or packet.
_LOCATION = RECORD_WORDS - len(LOCATION)


@inlined
def error(code, dispatch_index, wavefront):
    """An error report in one word; no error is 0."""
    return code | wavefront << 8 | dispatch_index << 24


@inlined
def dispatch_index_of(config, workgroup):
    """A workgroup's dispatch index, or -1 if the launch has no such workgroup."""
    if workgroup >= config[C.workgroups]:
        return -1
    dispatch_index = workgroup - config[C.first_workgroup]
    if dispatch_index < 0:
        dispatch_index += config[C.workgroups]
    return dispatch_index & config[C.dispatch_index_mask]


@inlined
def range_of(config, region, dispatch_index):
    """Where the lowest enabled range of `region` (-1: of any) with `dispatch_index` is, or -1."""
    at = natural(config[C.at_ranges])
    for _ in range(config[C.ranges]):
        if (
            config[at + RANGE.enable]
            and config[at + RANGE.first] <= dispatch_index <= config[at + RANGE.last]
            and (region < 0 or config[at + RANGE.region] == region)
        ):
            return at
        at = natural(at + len(RANGE))
    return -1


@compiled
def locate(s, record, atom, context, workgroup):
    """First step of the lookup: note where the store or packet of this record belongs."""
    config, channel = s.config, s.channels
    to = natural(record + _LOCATION)
    channel[to + LOCATION.mapped] = 0
    channel[to + LOCATION.valid] = 0
    at = natural(config[C.at_regions])
    for index in range(config[C.regions]):
        if (
            config[at + REGION.base] <= atom < config[at + REGION.limit]
            and config[at + REGION.context] == context
            and config[at + REGION.enable]
        ):
            dispatch_index = dispatch_index_of(config, workgroup)
            channel[to + LOCATION.mapped] = 1
            channel[to + LOCATION.region] = index
            channel[to + LOCATION.valid] = dispatch_index >= 0
            channel[to + LOCATION.dispatch_index] = dispatch_index
            break
        at = natural(at + len(REGION))


@inlined
def _action(config, channel, record):
    """Second step of the lookup.

    Returns
    -------
    action : int
    command : int
        Number of the range's command, if there is an action.
    """
    at = natural(record + _LOCATION)
    if channel[at + LOCATION.valid]:
        entry = range_of(
            config, channel[at + LOCATION.region], channel[at + LOCATION.dispatch_index]
        )
        if entry >= 0:
            return config[entry + RANGE.action], config[entry + RANGE.command]
    return _NONE, 0


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
    dispatch_index = channel[store + _LOCATION + LOCATION.dispatch_index]
    action, command = _action(config, channel, store)
    ends = channel[store + STORE.kind] != _STORE
    if action == _NONE or action == _REMOTE:
        if ends:
            return mark(Q.stores), 0, 0
        target = _TO_WRITE if action == _NONE else _TO_REMOTE
    else:
        if dispatch_index < s.gpu[U.oldest]:
            return mark(Q.stores), 0, error(_STORE_LATE, dispatch_index, wavefront)
        if dispatch_index >= s.gpu[U.credit_limit]:
            return mark(Q.stores), 0, error(_STORE_AHEAD, dispatch_index, wavefront)
        target = _TO_END_OF_TILE if ends else _TO_UPDATE
    if not room(levels, Q.classified, D.classified):
        return 0, 0, 0

    to = back(body, levels, heads, Q.classified)
    channel[to + CLASSIFIED.target] = target
    channel[to + CLASSIFIED.atom] = atom
    channel[to + CLASSIFIED.workgroup] = channel[store + STORE.workgroup]
    channel[to + CLASSIFIED.dispatch_index] = dispatch_index
    channel[to + CLASSIFIED.wavefront] = wavefront
    channel[to + CLASSIFIED.tile_atoms] = channel[store + STORE.tile_atoms]
    channel[to + CLASSIFIED.outer_edge] = channel[store + STORE.outer_edge]
    channel[to + CLASSIFIED.inner_edge] = channel[store + STORE.inner_edge]
    channel[to + CLASSIFIED.command] = command
    entry = natural(config[C.at_commands] + command * len(COMMAND))
    channel[to + CLASSIFIED.op] = config[entry + COMMAND.op]
    channel[to + CLASSIFIED.dtype] = config[entry + COMMAND.dtype]
    if config[C.with_data]:
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
    dispatch_index = channel[packet + _LOCATION + LOCATION.dispatch_index]
    action, _ = _action(config, channel, packet)
    store = channel[packet + PACKET.kind] == _PACKET_STORE
    code = 0
    if store:
        code = 0 if channel[packet + _LOCATION + LOCATION.mapped] else _PACKET_UNMAPPED
    elif action == _NONE or action == _REMOTE:
        code = _PACKET_UNMAPPED
    elif dispatch_index < s.gpu[U.oldest]:
        code = _PACKET_LATE
    elif dispatch_index >= s.gpu[U.credit_limit]:
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
        channel[to + DRAM.dispatch_index] = 0
        channel[to + DRAM.wavefront] = 0
        channel[to + DRAM.op] = _SUM
        channel[to + DRAM.dtype] = _FP16
    else:
        channel[to + DRAM.access] = _UPDATE
        channel[to + DRAM.dispatch_index] = dispatch_index
        channel[to + DRAM.wavefront] = wavefront
        channel[to + DRAM.op] = channel[packet + PACKET.op]
        channel[to + DRAM.dtype] = channel[packet + PACKET.dtype]
    if config[C.with_data]:
        copy_words(channel, to + DRAM.data_0, channel, packet + PACKET.data_0, DATA_WORDS)
    return mark(Q.inbound), mark(Q.updates), 0
