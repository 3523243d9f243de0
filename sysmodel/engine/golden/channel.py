"""One memory channel: from its queues' heads to its queues' tails in one cycle."""

from rtl.interface.encodings import Access, Datatype, Operation, Origin, Target
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, I, O
from sysmodel.lib.compiled import inlined

from .address_map import check_packet, classify_store, locate
from .arbiter import arbitrate, measure
from .dma import fill_slot, step_lane
from .issue_acks import has_room, take_issue_ack
from .queues import D, Q, back, commit, copy_words, front, has, mark, natural, pick, room
from .state import (
    CHANNEL_WORDS,
    CLASSIFIED,
    COMMAND,
    DATA_WORDS,
    DRAM,
    PACKET,
    READ,
    STORE,
    TILE,
    C,
    K,
)

__all__ = ["step_channel", "write_channel"]

_READ, _WRITE, _UPDATE = Access.READ.value, Access.WRITE.value, Access.UPDATE.value
_COMPUTE, _COMMUNICATION = Origin.COMPUTE.value, Origin.COMMUNICATION.value
_SUM, _FP16 = Operation.SUM.value, Datatype.FP16.value
_TO_UPDATE, _TO_REMOTE = Target.UPDATE.value, Target.REMOTE.value
_TO_END_OF_TILE = Target.END_OF_TILE.value
# What the DMA unit may still have to do for a channel, and what leaves over the link.
_DMA_WORK = sum(15 << (4 * q) for q in (Q.segments, Q.sends, Q.dma_reads, Q.remote, Q.link))


@inlined
def _read_request(channel, to, origin, read):
    """A DRAM request for the read whose record is at `read`."""
    channel[to + DRAM.access] = _READ
    channel[to + DRAM.origin] = origin
    channel[to + DRAM.atom] = channel[read + READ.atom]
    channel[to + DRAM.tag] = channel[read + READ.tag]
    channel[to + DRAM.dispatch_index] = 0
    channel[to + DRAM.wavefront] = 0
    channel[to + DRAM.op] = _SUM
    channel[to + DRAM.dtype] = _FP16
    for word in range(DATA_WORDS):
        channel[to + DRAM.data_0 + word] = 0


@inlined
def _copy_record(channel, to, source, head, with_data):
    """Copy `head` words of a record, and the data that follow them."""
    copy_words(channel, to, channel, source, head)
    if with_data:
        copy_words(channel, to + head, channel, source + head, DATA_WORDS)


@inlined
def _issue(s, k, levels, heads):
    """The two merges and the arbiter, into ``issue``."""
    channel = s.channels
    body = k + K.body
    compute = pick(has(levels, Q.reads), has(levels, Q.writes), channel[k + K.compute_last])
    communication = pick(
        has(levels, Q.updates), has(levels, Q.dma_reads), channel[k + K.communication_last]
    )
    choice = arbitrate(s, k, compute >= 0, communication >= 0, room(levels, Q.issue, D.issue))
    if choice < 0:
        return 0, 0
    to = back(body, levels, heads, Q.issue)
    if choice == 0:
        channel[k + K.compute_last] = compute
        queue = Q.reads if compute == 0 else Q.writes
        reads = compute == 0
        origin = _COMPUTE
    else:
        channel[k + K.communication_last] = communication
        queue = Q.updates if communication == 0 else Q.dma_reads
        reads = communication == 1
        origin = _COMMUNICATION
    source = front(body, heads, queue)
    if reads:
        _read_request(channel, to, origin, source)
    else:
        _copy_record(channel, to, source, DRAM.data_0, s.config[C.with_data])
    return mark(queue), mark(Q.issue)


@inlined
def _route(s, k, levels, heads):
    """The head of ``classified`` to ``writes``, ``remote`` or ``ends``."""
    config, channel = s.config, s.channels
    body = k + K.body
    head = front(body, heads, Q.classified)
    target = channel[head + CLASSIFIED.target]
    if target == _TO_REMOTE:
        if not room(levels, Q.remote, D.remote):
            return 0, 0
        to = back(body, levels, heads, Q.remote)
        command = natural(config[C.at_commands] + channel[head + CLASSIFIED.command] * len(COMMAND))
        moved = channel[head + CLASSIFIED.atom] + config[command + COMMAND.atom_offset]
        channel[to + PACKET.kind] = config[command + COMMAND.kind]
        channel[to + PACKET.atom] = moved & config[C.atom_mask]
        channel[to + PACKET.context] = config[command + COMMAND.context]
        channel[to + PACKET.workgroup] = channel[head + CLASSIFIED.workgroup]
        channel[to + PACKET.wavefront] = channel[head + CLASSIFIED.wavefront]
        channel[to + PACKET.op] = channel[head + CLASSIFIED.op]
        channel[to + PACKET.dtype] = channel[head + CLASSIFIED.dtype]
        if config[C.with_data]:
            copy_words(channel, to + PACKET.data_0, channel, head + CLASSIFIED.data_0, DATA_WORDS)
        return mark(Q.classified), mark(Q.remote)
    if target == _TO_END_OF_TILE:
        if not room(levels, Q.ends, D.ends):
            return 0, 0
        to = back(body, levels, heads, Q.ends)
        channel[to + TILE.end] = 1
        channel[to + TILE.dispatch_index] = channel[head + CLASSIFIED.dispatch_index]
        channel[to + TILE.wavefront] = channel[head + CLASSIFIED.wavefront]
        channel[to + TILE.atom] = 0
        channel[to + TILE.count] = 0
        channel[to + TILE.tile_atoms] = channel[head + CLASSIFIED.tile_atoms]
        channel[to + TILE.outer_edge] = channel[head + CLASSIFIED.outer_edge]
        channel[to + TILE.inner_edge] = channel[head + CLASSIFIED.inner_edge]
        return mark(Q.classified), mark(Q.ends)
    if not room(levels, Q.writes, D.writes):
        return 0, 0
    to = back(body, levels, heads, Q.writes)
    update = target == _TO_UPDATE
    channel[to + DRAM.access] = _UPDATE if update else _WRITE
    channel[to + DRAM.origin] = _COMPUTE
    channel[to + DRAM.atom] = channel[head + CLASSIFIED.atom]
    channel[to + DRAM.tag] = 0
    channel[to + DRAM.dispatch_index] = channel[head + CLASSIFIED.dispatch_index] if update else 0
    channel[to + DRAM.wavefront] = channel[head + CLASSIFIED.wavefront] if update else 0
    channel[to + DRAM.op] = channel[head + CLASSIFIED.op] if update else _SUM
    channel[to + DRAM.dtype] = channel[head + CLASSIFIED.dtype] if update else _FP16
    if config[C.with_data]:
        copy_words(channel, to + DRAM.data_0, channel, head + CLASSIFIED.data_0, DATA_WORDS)
    return mark(Q.classified), mark(Q.writes)


@inlined
def _link(s, k, levels, heads):
    """Remote stores and DMA sends into ``link``."""
    channel = s.channels
    body = k + K.body
    choice = pick(has(levels, Q.remote), has(levels, Q.sends), channel[k + K.link_last])
    if choice < 0 or not room(levels, Q.link, D.link):
        return 0, 0
    channel[k + K.link_last] = choice
    queue = Q.remote if choice == 0 else Q.sends
    to = back(body, levels, heads, Q.link)
    _copy_record(channel, to, front(body, heads, queue), PACKET.data_0, s.config[C.with_data])
    return mark(queue), mark(Q.link)


@inlined
def _take_inputs(s, number, inputs, levels, heads):
    """What the ports offer; gives the queues that it entered."""
    channel = s.channels
    with_data = s.config[C.with_data]
    k, i = natural(number * CHANNEL_WORDS), natural(number * CHANNEL_INPUTS)
    body = k + K.body
    pushed = 0
    if inputs[i + I.reads_valid] and room(levels, Q.reads, D.reads):
        to = back(body, levels, heads, Q.reads)
        copy_words(channel, to, inputs, i + I.reads_atom, len(READ))
        pushed += mark(Q.reads)
    if inputs[i + I.stores_valid] and room(levels, Q.stores, D.stores):
        to = back(body, levels, heads, Q.stores)
        copy_words(channel, to, inputs, i + I.stores_kind, STORE.data_0)
        if with_data:
            copy_words(channel, to + STORE.data_0, inputs, i + I.stores_data_0, DATA_WORDS)
        locate(
            s,
            to,
            channel[to + STORE.atom],
            channel[to + STORE.context],
            channel[to + STORE.workgroup],
        )
        pushed += mark(Q.stores)
    if inputs[i + I.link_in_valid] and room(levels, Q.inbound, D.inbound):
        to = back(body, levels, heads, Q.inbound)
        copy_words(channel, to, inputs, i + I.link_in_kind, PACKET.data_0)
        if with_data:
            copy_words(channel, to + PACKET.data_0, inputs, i + I.link_in_data_0, DATA_WORDS)
        locate(
            s,
            to,
            channel[to + PACKET.atom],
            channel[to + PACKET.context],
            channel[to + PACKET.workgroup],
        )
        pushed += mark(Q.inbound)
    update = False
    if inputs[i + I.issue_acks_valid] and has_room(channel, k):
        access = inputs[i + I.issue_acks_access]
        if access == _WRITE:
            channel[k + K.stored] = (channel[k + K.stored] + 1) & 0xFFFFFFFF
        update = access == _UPDATE
    pushed += take_issue_ack(
        s,
        number,
        k,
        levels,
        heads,
        update,
        inputs[i + I.issue_acks_atom],
        inputs[i + I.issue_acks_dispatch_index],
        inputs[i + I.issue_acks_wavefront],
    )
    if inputs[i + I.returns_valid]:
        slot = fill_slot(s, number, inputs[i + I.returns_slot])
        if with_data:
            copy_words(s.memory, slot + PACKET.data_0, inputs, i + I.returns_data_0, DATA_WORDS)
    return pushed


@inlined
def step_channel(s, number, inputs, start_measurement):
    """One cycle of channel `number`.

    Returns
    -------
    error : int
        The first one of the cycle.
    busy : bool
        Whether there is DMA work, as ``idle`` of the top sees it.
    sends : bool
        Whether the link takes a packet.
    """
    channel = s.channels
    k, i = natural(number * CHANNEL_WORDS), natural(number * CHANNEL_INPUTS)
    body = k + K.body
    levels, heads = channel[k + K.levels], channel[k + K.heads]
    popped, pushed = channel[k + K.popped], channel[k + K.pushed]
    channel[k + K.popped] = 0
    channel[k + K.pushed] = 0
    busy = (levels & _DMA_WORK) | channel[k + K.slots_used] | channel[k + K.in_flight] != 0

    if levels and has(levels, Q.issue) and inputs[i + I.dram_ready]:
        popped += mark(Q.issue)
    sends = has(levels, Q.link) and inputs[i + I.link_out_ready] != 0
    if sends:
        popped += mark(Q.link)
    # Lane before the returns: a slot that is filled now can be sent in the next cycle.
    more_popped, more_pushed = step_lane(s, number, levels, heads)
    popped += more_popped
    pushed += more_pushed
    failure = 0
    if levels:
        more_popped, more_pushed = _issue(s, k, levels, heads)
        popped += more_popped
        pushed += more_pushed
        if has(levels, Q.classified):
            more_popped, more_pushed = _route(s, k, levels, heads)
            popped += more_popped
            pushed += more_pushed
        more_popped, more_pushed = _link(s, k, levels, heads)
        popped += more_popped
        pushed += more_pushed
        if has(levels, Q.stores):
            more_popped, more_pushed, failure = classify_store(s, body, levels, heads)
            popped += more_popped
            pushed += more_pushed
        if has(levels, Q.inbound):
            more_popped, more_pushed, second = check_packet(s, body, levels, heads)
            popped += more_popped
            pushed += more_pushed
            failure = failure if failure else second
    else:
        channel[k + K.starved] = 0
    if start_measurement or channel[k + K.measuring]:
        measure(s, k, start_measurement)
    channel[k + K.occupancy] = inputs[i + I.occupancy]
    pushed += _take_inputs(s, number, inputs, levels, heads)
    channel[k + K.levels], channel[k + K.heads] = commit(levels, heads, popped, pushed)
    return failure, busy, sends


@inlined
def write_channel(s, number, outputs):
    """The channel's outputs of the next cycle."""
    channel = s.channels
    with_data = s.config[C.with_data]
    k, o = natural(number * CHANNEL_WORDS), natural(number * CHANNEL_OUTPUTS)
    levels, heads = channel[k + K.levels], channel[k + K.heads]
    body = k + K.body
    outputs[o + O.reads_ready] = room(levels, Q.reads, D.reads)
    outputs[o + O.stores_ready] = room(levels, Q.stores, D.stores)
    outputs[o + O.link_in_ready] = room(levels, Q.inbound, D.inbound)
    outputs[o + O.issue_acks_ready] = has_room(channel, k)
    outputs[o + O.returns_ready] = 1
    outputs[o + O.stored] = channel[k + K.stored]
    outputs[o + O.link_out_valid] = has(levels, Q.link)
    if has(levels, Q.link):
        head = front(body, heads, Q.link)
        copy_words(outputs, o + O.link_out_kind, channel, head, PACKET.data_0)
        if with_data:
            copy_words(outputs, o + O.link_out_data_0, channel, head + PACKET.data_0, DATA_WORDS)
    outputs[o + O.dram_valid] = has(levels, Q.issue)
    if has(levels, Q.issue):
        head = front(body, heads, Q.issue)
        copy_words(outputs, o + O.dram_access, channel, head, DRAM.data_0)
        if with_data:
            copy_words(outputs, o + O.dram_data_0, channel, head + DRAM.data_0, DATA_WORDS)
