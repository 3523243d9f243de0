"""One memory channel: from its queues' heads to its queues' tails in one cycle."""

from rtl.channel.channel import STORES_ON_THEIR_WAY
from rtl.channel.under_way import COUNT_BITS
from rtl.interface.encodings import Access, Datatype, Operation, Origin, PacketKind, Target
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, I, O
from sysmodel.lib.compiled import inlined

from .address_map import check_packet, classify_store, locate, takes
from .arbitration import arbitrate, measure
from .dma import fill_slot, lane_is_idle, step_lane
from .issue_acks import has_room, take_issue_ack
from .layouts import DATA_WORDS, copy_data
from .queues import D, Q, back, commit, front, has, mark, natural, pick, room
from .records import copy_record, load_record, store_record

__all__ = ["step_channel", "write_channel"]

_READ, _WRITE, _UPDATE = Access.READ.value, Access.WRITE.value, Access.UPDATE.value
_COMPUTE, _COMMUNICATION = Origin.COMPUTE.value, Origin.COMMUNICATION.value
_SUM, _FP16 = Operation.SUM.value, Datatype.FP16.value
_TO_UPDATE, _TO_REMOTE = Target.UPDATE.value, Target.REMOTE.value
_PACKET_STORE = PacketKind.STORE.value
_TO_END_OF_TILE = Target.END_OF_TILE.value
_MOST_UNDER_WAY = (1 << COUNT_BITS) - 1


@inlined
def _read_request(to, origin, read, owner, tag):
    """A DRAM request for a read."""
    to.access = _READ
    to.origin = origin
    to.atom = read.atom
    to.tag = tag
    to.owner = owner
    to.dispatch_index = 0
    to.wavefront = 0
    to.op = _SUM
    to.dtype = _FP16
    for word in range(DATA_WORDS):
        to.data[word] = 0


@inlined
def _reading_lane(s, channel):
    """The context whose lane goes first to read, or -1."""
    context = natural(channel.lane_first)
    for _ in range(s.config.contexts):
        if channel.lanes[context].reads_level:
            return context
        context = context + 1 if context + 1 < s.config.contexts else 0
    return -1


@inlined
def _issue(s, channel, levels, heads):
    """The two merges and the arbiter, into ``issue``.

    Returns
    -------
    popped, pushed : int
    reads : int
        Context whose lane reads, or -1.
    """
    reader = _reading_lane(s, channel)
    compute = pick(has(levels, Q.reads), has(levels, Q.writes), channel.compute_last)
    communication = pick(has(levels, Q.updates), reader >= 0, channel.communication_last)
    choice = arbitrate(s, channel, compute >= 0, communication >= 0, room(levels, Q.issue, D.issue))
    if choice < 0:
        return 0, 0, -1
    to = channel.issue[back(levels, heads, Q.issue)]
    if choice == 0:
        channel.compute_last = compute
        if compute == 0:
            read = channel.reads[front(heads, Q.reads)]
            _read_request(to, _COMPUTE, read, 0, read.tag)
            return mark(Q.reads), mark(Q.issue), -1
        copy_record(to, channel.writes[front(heads, Q.writes)])
        return mark(Q.writes), mark(Q.issue), -1
    channel.communication_last = communication
    if communication == 0:
        copy_record(to, channel.updates[front(heads, Q.updates)])
        return mark(Q.updates), mark(Q.issue), -1
    lane = channel.lanes[natural(reader)]
    read = lane.reads[natural(lane.reads_head)]
    _read_request(to, _COMMUNICATION, read, reader, read.tag | reader << s.config.slot_bits)
    channel.lane_first = reader + 1 if reader + 1 < s.config.contexts else 0
    return 0, mark(Q.issue), reader


@inlined
def _route(s, number, channel, levels, heads):
    """The head of ``classified`` to ``writes``, to its context's ``remote``, or to ``ends``."""
    head = channel.classified[front(heads, Q.classified)]
    target, owner = head.target, natural(head.owner)
    if target == _TO_REMOTE:
        lane, rows = channel.lanes[owner], s.config.remote_depth - 1
        if s.contexts[owner].aborted:
            lane.ended += 1
            return mark(Q.classified), 0
        if lane.remote_stored == rows:
            return 0, 0
        behind = lane.remote_head + lane.remote_valid + lane.remote_stored
        behind = behind - rows - 1 if behind > rows else behind
        to = s.remote[natural(number), owner, natural(behind)]
        command = s.commands[owner, head.command]
        lane.remote_put = 1
        lane.ended += 1
        to.kind = command.kind
        to.atom = (head.atom + command.atom_offset) & s.config.atom_mask
        to.context = s.contexts[owner].address_space.remote
        to.generation = head.generation
        to.workgroup = head.workgroup
        to.wavefront = head.wavefront
        to.op = head.op
        to.dtype = head.dtype
        copy_data(s, to, head)
        return mark(Q.classified), 0
    if target == _TO_END_OF_TILE:
        if not room(levels, Q.ends, D.ends):
            return 0, 0
        to = channel.ends[back(levels, heads, Q.ends)]
        to.end = 1
        to.owner = owner
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
    to.owner = owner if update else 0
    to.dispatch_index = head.dispatch_index if update else 0
    to.wavefront = head.wavefront if update else 0
    to.op = head.op if update else _SUM
    to.dtype = head.dtype if update else _FP16
    copy_data(s, to, head)
    return mark(Q.classified), mark(Q.writes)


@inlined
def _link(s, number, channel, levels, heads, link_room):
    """Remote stores and the lanes' packets into ``link``.

    Returns
    -------
    pushed : int
    context : int
        Whose packet it was, or -1.
    remote : bool
        A remote store, or else the lane's.
    """
    if not room(levels, Q.link, D.link):
        return 0, -1, False
    context = natural(channel.link_first)
    for _ in range(s.config.contexts):
        lane = channel.lanes[context]
        following = context + 1 if context + 1 < s.config.contexts else 0
        choice = pick(lane.remote_valid != 0, lane.has_ahead != 0, lane.link_last)
        if choice >= 0 and link_room >> context & 1 and not s.contexts[context].aborted:
            lane.link_last = choice
            channel.link_first = following
            to = channel.link[back(levels, heads, Q.link)]
            to.owner, to.source = context, s.gpu.number
            if choice == 0:
                head = s.remote[natural(number), context, natural(lane.remote_head)]
                copy_record(to.packet, head)
            else:
                copy_record(to.packet, lane.ahead)
            return mark(Q.link), context, choice == 0
        context = natural(following)
    return 0, -1, False


@inlined
def _step_remote(s, lane, left):
    """One cycle of a queue of remote stores: what is stored is read ahead."""
    put = lane.remote_put
    if left:
        last = s.config.remote_depth - 1
        lane.remote_head = 0 if lane.remote_head == last else lane.remote_head + 1
    reads = lane.remote_stored != 0 and (left or not lane.remote_valid)
    lane.remote_valid = reads or (lane.remote_valid != 0 and not left)
    lane.remote_stored += put - reads
    lane.remote_put = 0


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
        channel.lanes[natural(to.location.owner)].begun += to.location.counted
        pushed += mark(Q.stores)
    if inputs[i + I.link_in_valid] and room(levels, Q.inbound, D.inbound):
        arrival = channel.inbound[back(levels, heads, Q.inbound)]
        packet = arrival.packet
        load_record(packet, inputs, i + I.link_in_kind)
        arrival.stray = not locate(
            s, arrival.location, packet.atom, packet.context, packet.workgroup
        )
        source = inputs[i + I.link_in_source]
        arrival.forbidden = not takes(s.contexts[natural(arrival.location.owner)], packet, source)
        arrival.source = source
        lane = channel.lanes[natural(arrival.location.owner)]
        if packet.kind == _PACKET_STORE:
            lane.copies_begun += arrival.location.counted
        else:
            lane.begun += arrival.location.counted
        pushed += mark(Q.inbound)
    update = False
    if inputs[i + I.issue_acks_valid] and has_room(channel):
        access = inputs[i + I.issue_acks_access]
        if access == _WRITE:
            channel.stored = (channel.stored + 1) & 0xFFFFFFFF
        update = access == _UPDATE
        if access == _WRITE:
            channel.lanes[natural(inputs[i + I.issue_acks_owner])].copies_ended += 1
    pushed += take_issue_ack(
        s,
        number,
        levels,
        heads,
        update,
        inputs[i + I.issue_acks_atom],
        inputs[i + I.issue_acks_owner],
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
def _count_under_way(lane):
    """Count what began and ended in the last cycle."""
    if lane.begun | lane.ended:
        count = (lane.under_way + lane.begun - lane.ended) & (2 * _MOST_UNDER_WAY + 1)
        lane.under_way = 0 if count > _MOST_UNDER_WAY else count
        lane.begun = lane.ended = 0
    lane.ended = lane.tracked
    lane.tracked = 0
    if lane.copies_begun | lane.copies_ended:
        count = lane.copies_under_way + lane.copies_begun - lane.copies_ended
        count &= 2 * _MOST_UNDER_WAY + 1
        lane.copies_under_way = 0 if count > _MOST_UNDER_WAY else count
        lane.copies_begun = lane.copies_ended = 0


@inlined
def _look_at_lanes(s, channel):
    """Count what is under way; gives a bit for each context that has something left, and for each
    that has more than packets before the link."""
    busy = stays = 0
    for context in range(s.config.contexts):
        lane = channel.lanes[context]
        work = lane.under_way | lane.begun | lane.copies_under_way | lane.copies_begun
        work |= lane.remote_stored | lane.remote_valid
        if work != 0 or not lane_is_idle(lane):
            stays |= 1 << context
        if lane.on_link:
            busy |= 1 << context
        if work | lane.ended | lane.tracked | lane.copies_ended:
            _count_under_way(lane)
    return busy | stays, stays


@inlined
def _step_lanes(s, number, channel, inputs, busy, reader, sender, remote):
    """What each lane and queue of remote stores does besides giving."""
    i = number * CHANNEL_INPUTS
    returned = -1  # whose data is back
    if inputs[i + I.returns_valid]:
        returned = inputs[i + I.returns_slot] >> s.config.slot_bits
    for context in range(s.config.contexts):
        lane = channel.lanes[context]
        if busy >> context & 1 or lane.segments_pushed or lane.remote_put:
            sends, drops = sender == context, False
            if s.contexts[context].aborted:
                # What would go to the link is dropped, in the same turns.
                choice = pick(lane.remote_valid != 0, lane.has_ahead != 0, lane.link_last)
                if choice >= 0:
                    lane.link_last = choice
                    sends, drops = True, choice == 0
            else:
                drops = remote
            is_back = returned == context
            step_lane(s, number, context, reader == context, sends and not drops, is_back)
            _step_remote(s, lane, sends and drops)


@inlined
def step_channel(s, number, inputs, start_measurement):
    """One cycle of channel `number`.

    Returns
    -------
    error, second : int
        Of the store and of the packet.
    busy : int
        A bit for each context that has something left to do, as ``idle`` of the top sees it.
    stays : int
        Likewise, but for packets before the link.
    sends : int
        A bit for the context whose packet the link takes.
    """
    channel, i = s.channels[natural(number)], natural(number * CHANNEL_INPUTS)
    levels, heads = channel.levels, channel.heads
    popped, pushed = channel.popped, channel.pushed
    channel.popped = 0
    channel.pushed = 0
    busy, stays = _look_at_lanes(s, channel)

    if levels and has(levels, Q.issue) and inputs[i + I.dram_ready]:
        popped += mark(Q.issue)
    sends = 0
    if has(levels, Q.link) and inputs[i + I.link_out_ready]:
        popped += mark(Q.link)
        owner = natural(channel.link[front(heads, Q.link)].owner)
        channel.lanes[owner].on_link -= 1
        sends = 1 << owner
    failure = second = 0
    reader, sender, remote = -1, -1, False
    if levels or busy:
        more_popped, more_pushed, reader = _issue(s, channel, levels, heads)
        popped += more_popped
        pushed += more_pushed
        more_pushed, sender, remote = _link(
            s, number, channel, levels, heads, inputs[i + I.link_room]
        )
        pushed += more_pushed
        if sender >= 0:
            channel.lanes[natural(sender)].on_link += 1
        if has(levels, Q.classified):
            more_popped, more_pushed = _route(s, number, channel, levels, heads)
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
    else:
        channel.starved = channel.compute_starved = 0
    _step_lanes(s, number, channel, inputs, busy, reader, sender, remote)
    if start_measurement or channel.measuring:
        measure(s.config.arbiter, channel, start_measurement)
    channel.occupancy = inputs[i + I.occupancy]
    pushed += _take_inputs(s, number, inputs, levels, heads)
    channel.levels, channel.heads = commit(levels, heads, popped, pushed)
    return failure, second, busy, stays, sends


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
    free = 0
    for context in range(s.config.contexts):
        lane = channel.lanes[context]
        waiting = lane.remote_stored + lane.remote_valid
        free |= (waiting <= s.config.remote_depth - STORES_ON_THEIR_WAY) << context
    outputs[o + O.stores_room] = free
    outputs[o + O.stored] = channel.stored
    outputs[o + O.link_out_valid] = has(levels, Q.link)
    if has(levels, Q.link):
        first = channel.link[front(heads, Q.link)]
        store_record(outputs, o + O.link_out_kind, first.packet)
        outputs[o + O.link_out_source] = first.source
        outputs[o + O.link_owner] = first.owner
    outputs[o + O.dram_valid] = has(levels, Q.issue)
    if has(levels, Q.issue):
        store_record(outputs, o + O.dram_access, channel.issue[front(heads, Q.issue)])
