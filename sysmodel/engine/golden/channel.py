"""One memory channel: from its queues' heads to its queues' tails in one cycle."""

from rtl.channel.under_way import COUNT_BITS
from rtl.interface.encodings import Access, Datatype, Operation, Origin, Target
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, I, O
from sysmodel.lib.compiled import inlined

from .address_map import check_packet, classify_store, locate
from .arbitration import arbitrate, measure
from .dma import fill_slot, step_lane
from .issue_acks import has_room, take_issue_ack
from .layouts import DATA_WORDS, copy_data
from .protected_queue import is_empty
from .queues import D, Q, back, commit, front, has, mark, natural, pick, room
from .records import copy_record, load_record, store_record

__all__ = ["step_channel", "write_channel"]

_READ, _WRITE, _UPDATE = Access.READ.value, Access.WRITE.value, Access.UPDATE.value
_COMPUTE, _COMMUNICATION = Origin.COMPUTE.value, Origin.COMMUNICATION.value
_SUM, _FP16 = Operation.SUM.value, Datatype.FP16.value
_TO_UPDATE, _TO_REMOTE = Target.UPDATE.value, Target.REMOTE.value
_TO_END_OF_TILE = Target.END_OF_TILE.value
# What waits for the DMA, the link or the tracker; not an ordinary access.
_WORK = sum(
    15 << (4 * q)
    for q in (Q.segments, Q.sends, Q.dma_reads, Q.remote, Q.link, Q.issue_acks, Q.ends)
)
_MOST_UNDER_WAY = (1 << COUNT_BITS) - 1


@inlined
def _read_request(to, origin, read):
    """A DRAM request for a read."""
    to.access = _READ
    to.origin = origin
    to.atom = read.atom
    to.tag = read.tag
    to.dispatch_index = 0
    to.wavefront = 0
    to.op = _SUM
    to.dtype = _FP16
    for word in range(DATA_WORDS):
        to.data[word] = 0


@inlined
def _issue(s, channel, levels, heads):
    """The two merges and the arbiter, into ``issue``."""
    compute = pick(has(levels, Q.reads), has(levels, Q.writes), channel.compute_last)
    communication = pick(
        has(levels, Q.updates), has(levels, Q.dma_reads), channel.communication_last
    )
    choice = arbitrate(s, channel, compute >= 0, communication >= 0, room(levels, Q.issue, D.issue))
    if choice < 0:
        return 0, 0
    to = channel.issue[back(levels, heads, Q.issue)]
    if choice == 0:
        channel.compute_last = compute
        if compute == 0:
            _read_request(to, _COMPUTE, channel.reads[front(heads, Q.reads)])
            return mark(Q.reads), mark(Q.issue)
        copy_record(to, channel.writes[front(heads, Q.writes)])
        return mark(Q.writes), mark(Q.issue)
    channel.communication_last = communication
    if communication == 0:
        copy_record(to, channel.updates[front(heads, Q.updates)])
        return mark(Q.updates), mark(Q.issue)
    _read_request(to, _COMMUNICATION, channel.dma_reads[front(heads, Q.dma_reads)])
    return mark(Q.dma_reads), mark(Q.issue)


@inlined
def _route(s, channel, levels, heads):
    """The head of ``classified`` to ``writes``, ``remote`` or ``ends``."""
    head = channel.classified[front(heads, Q.classified)]
    target = head.target
    if target == _TO_REMOTE:
        if not room(levels, Q.remote, D.remote):
            return 0, 0
        to = channel.remote[back(levels, heads, Q.remote)]
        command = s.commands[head.command]
        channel.ended += 1
        to.kind = command.kind
        to.atom = (head.atom + command.atom_offset) & s.config.atom_mask
        to.context = command.context
        to.workgroup = head.workgroup
        to.wavefront = head.wavefront
        to.op = head.op
        to.dtype = head.dtype
        copy_data(s, to, head)
        return mark(Q.classified), mark(Q.remote)
    if target == _TO_END_OF_TILE:
        if not room(levels, Q.ends, D.ends):
            return 0, 0
        channel.ended += 1
        to = channel.ends[back(levels, heads, Q.ends)]
        to.end = 1
        to.dispatch_index = head.dispatch_index
        to.wavefront = head.wavefront
        to.atom = 0
        to.count = 0
        to.tile_atoms = head.tile_atoms
        to.outer_edge = head.outer_edge
        to.inner_edge = head.inner_edge
        return mark(Q.classified), mark(Q.ends)
    if not room(levels, Q.writes, D.writes):
        return 0, 0
    to = channel.writes[back(levels, heads, Q.writes)]
    update = target == _TO_UPDATE
    to.access = _UPDATE if update else _WRITE
    to.origin = _COMPUTE
    to.atom = head.atom
    to.tag = 0
    to.dispatch_index = head.dispatch_index if update else 0
    to.wavefront = head.wavefront if update else 0
    to.op = head.op if update else _SUM
    to.dtype = head.dtype if update else _FP16
    copy_data(s, to, head)
    return mark(Q.classified), mark(Q.writes)


@inlined
def _link(channel, levels, heads):
    """Remote stores and DMA sends into ``link``."""
    choice = pick(has(levels, Q.remote), has(levels, Q.sends), channel.link_last)
    if choice < 0 or not room(levels, Q.link, D.link):
        return 0, 0
    channel.link_last = choice
    to = channel.link[back(levels, heads, Q.link)]
    if choice == 0:
        copy_record(to, channel.remote[front(heads, Q.remote)])
        return mark(Q.remote), mark(Q.link)
    copy_record(to, channel.sends[front(heads, Q.sends)])
    return mark(Q.sends), mark(Q.link)


@inlined
def _take_inputs(s, number, inputs, levels, heads):
    """What the ports offer; gives the queues that it entered."""
    channel = s.channels[natural(number)]
    i = natural(number * CHANNEL_INPUTS)
    pushed = 0
    if inputs[i + I.reads_valid] and room(levels, Q.reads, D.reads):
        load_record(channel.reads[back(levels, heads, Q.reads)], inputs, i + I.reads_atom)
        pushed += mark(Q.reads)
    if inputs[i + I.stores_valid] and room(levels, Q.stores, D.stores):
        to = channel.stores[back(levels, heads, Q.stores)]
        store = to.store
        load_record(store, inputs, i + I.stores_kind)
        locate(s, to.location, store.atom, store.context, store.workgroup)
        channel.begun += to.location.mapped
        pushed += mark(Q.stores)
    if inputs[i + I.link_in_valid] and room(levels, Q.inbound, D.inbound):
        arrival = channel.inbound[back(levels, heads, Q.inbound)]
        packet = arrival.packet
        load_record(packet, inputs, i + I.link_in_kind)
        locate(s, arrival.location, packet.atom, packet.context, packet.workgroup)
        channel.begun += arrival.location.mapped
        pushed += mark(Q.inbound)
    update = False
    if inputs[i + I.issue_acks_valid] and has_room(channel):
        access = inputs[i + I.issue_acks_access]
        if access == _WRITE:
            channel.stored = (channel.stored + 1) & 0xFFFFFFFF
        update = access == _UPDATE
        channel.ended += access != _READ
    pushed += take_issue_ack(
        channel,
        levels,
        heads,
        update,
        inputs[i + I.issue_acks_atom],
        inputs[i + I.issue_acks_dispatch_index],
        inputs[i + I.issue_acks_wavefront],
    )
    if inputs[i + I.returns_valid]:
        slot = fill_slot(s, number, inputs[i + I.returns_slot])
        if s.config.with_data:
            for word in range(DATA_WORDS):
                slot.packet.data[word] = inputs[i + I.returns_data_0 + word]
    return pushed


@inlined
def _count_under_way(channel):
    """Count what began and ended in the last cycle."""
    if channel.begun | channel.ended:
        count = (channel.under_way + channel.begun - channel.ended) & (2 * _MOST_UNDER_WAY + 1)
        channel.under_way = 0 if count > _MOST_UNDER_WAY else count
        channel.begun = channel.ended = 0


@inlined
def step_channel(s, number, inputs, start_measurement):
    """One cycle of channel `number`.

    Returns
    -------
    error : int
        The first one of the cycle.
    busy : bool
        Whether anything is left to do, as ``idle`` of the top sees it.
    sends : bool
        Whether the link takes a packet.
    """
    channel, i = s.channels[natural(number)], natural(number * CHANNEL_INPUTS)
    levels, heads = channel.levels, channel.heads
    popped, pushed = channel.popped, channel.pushed
    channel.popped = 0
    channel.pushed = 0
    work = (levels & _WORK) | channel.slots_used | channel.in_flight
    busy = work | channel.under_way | channel.begun != 0 or not is_empty(channel.waiting)
    _count_under_way(channel)

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
        more_popped, more_pushed = _issue(s, channel, levels, heads)
        popped += more_popped
        pushed += more_pushed
        if has(levels, Q.classified):
            more_popped, more_pushed = _route(s, channel, levels, heads)
            popped += more_popped
            pushed += more_pushed
        more_popped, more_pushed = _link(channel, levels, heads)
        popped += more_popped
        pushed += more_pushed
        if has(levels, Q.stores):
            more_popped, more_pushed, failure = classify_store(s, channel, levels, heads)
            popped += more_popped
            pushed += more_pushed
        if has(levels, Q.inbound):
            more_popped, more_pushed, second = check_packet(s, channel, levels, heads)
            popped += more_popped
            pushed += more_pushed
            failure = failure if failure else second
    else:
        channel.starved = channel.compute_starved = 0
    if start_measurement or channel.measuring:
        measure(s.config.arbiter, channel, start_measurement)
    channel.occupancy = inputs[i + I.occupancy]
    pushed += _take_inputs(s, number, inputs, levels, heads)
    channel.levels, channel.heads = commit(levels, heads, popped, pushed)
    return failure, busy, sends


@inlined
def write_channel(s, number, outputs):
    """The channel's outputs of the next cycle."""
    channel, o = s.channels[natural(number)], natural(number * CHANNEL_OUTPUTS)
    levels, heads = channel.levels, channel.heads
    outputs[o + O.reads_ready] = room(levels, Q.reads, D.reads)
    outputs[o + O.stores_ready] = room(levels, Q.stores, D.stores)
    outputs[o + O.link_in_ready] = room(levels, Q.inbound, D.inbound)
    outputs[o + O.issue_acks_ready] = has_room(channel)
    outputs[o + O.returns_ready] = 1
    outputs[o + O.stored] = channel.stored
    outputs[o + O.link_out_valid] = has(levels, Q.link)
    if has(levels, Q.link):
        store_record(outputs, o + O.link_out_kind, channel.link[front(heads, Q.link)])
    outputs[o + O.dram_valid] = has(levels, Q.issue)
    if has(levels, Q.issue):
        store_record(outputs, o + O.dram_access, channel.issue[front(heads, Q.issue)])
