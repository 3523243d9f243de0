"""One memory channel: from its queues' heads to its queues' tails in one cycle."""

from rtl.interface.encodings import Access, Datatype, Operation, Origin, PacketKind, Target
from sysmodel.engine.ports import CHANNEL_INPUTS, I
from sysmodel.lib.compiled import inlined

from .address_map import check_packet, classify_store, locate, takes
from .arbitration import arbitrate, measure
from .dma import fill_slot, step_lane
from .issue_acks import has_room, take_issue_ack
from .layouts import DATA_WORDS, copy_data
from .protected_queue import is_empty
from .queues import D, Q, back, commit, front, has, mark, natural, pick, room
from .records import copy_record, load_record
from .rooms import MARK, MORE
from .watch import look_at_lanes, note_begun, note_copy_begun, note_copy_ended, note_ended

__all__ = ["is_called", "step_channel"]

_READ, _WRITE, _UPDATE = Access.READ.value, Access.WRITE.value, Access.UPDATE.value
_COMPUTE, _COMMUNICATION = Origin.COMPUTE.value, Origin.COMMUNICATION.value
_SUM, _FP16 = Operation.SUM.value, Datatype.FP16.value
_TO_UPDATE, _TO_REMOTE = Target.UPDATE.value, Target.REMOTE.value
_PACKET_STORE = PacketKind.STORE.value
_TO_END_OF_TILE = Target.END_OF_TILE.value
# Fields of the queues that are rooms, and of those with accesses for the arbiter.
_ROOMS = sum(MARK[: Q.candidates])
_ACCESSES = sum(15 * mark for mark in (MARK.reads, MARK.writes, MARK.updates))


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
def _issue(s, channel, levels, heads, reader):
    """The two merges and the arbiter, into ``issue``.

    Parameters
    ----------
    reader : int
        Context whose lane goes first to read, or -1.

    Returns
    -------
    popped, pushed : int
    reads : int
        Context whose lane reads, or -1.
    """
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
            note_ended(channel, owner, 1)
            return mark(Q.classified), 0
        if lane.remote_stored == rows:
            return 0, 0
        behind = lane.remote_head + lane.remote_valid + lane.remote_stored
        behind = behind - rows - 1 if behind > rows else behind
        to = s.remote[natural(number), owner, natural(behind)]
        command = s.commands[owner, head.command]
        lane.remote_put = 1
        note_ended(channel, owner, 1)
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
def _step_remote(s, channel, lane, left):
    """One cycle of a queue of remote stores: what is stored is read ahead."""
    put = lane.remote_put
    if left:
        last = s.config.remote_depth - 1
        lane.remote_head = 0 if lane.remote_head == last else lane.remote_head + 1
    reads = lane.remote_stored != 0 and (left or not lane.remote_valid)
    lane.remote_valid = reads or (lane.remote_valid != 0 and not left)
    lane.remote_stored += put - reads
    lane.remote_put = 0
    if put or reads or left:
        channel.awake_more += MORE.remote


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
        note_begun(channel, natural(to.location.owner), to.location.counted)
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
        owner, counted = natural(arrival.location.owner), arrival.location.counted
        if packet.kind == _PACKET_STORE:
            note_copy_begun(channel, owner, counted)
        else:
            note_begun(channel, owner, counted)
        pushed += mark(Q.inbound)
    update = False
    if inputs[i + I.issue_acks_valid] and has_room(channel):
        access = inputs[i + I.issue_acks_access]
        update = access == _UPDATE
        if access == _WRITE:
            channel.stored = (channel.stored + 1) & 0xFFFFFFFF
            channel.awake |= MARK.stored_count
            note_copy_ended(channel, natural(inputs[i + I.issue_acks_owner]), 1)
    if update or not is_empty(channel.waiting):
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
def _step_lanes(s, number, channel, inputs, reader, sender, remote):
    """What each lane and queue of remote stores does besides giving."""
    i = number * CHANNEL_INPUTS
    returned = -1  # whose data is back
    if inputs[i + I.returns_valid]:
        returned = inputs[i + I.returns_slot] >> s.config.slot_bits
    if not channel.live and returned < 0:
        return
    for context in range(s.config.contexts):
        lane, is_back = channel.lanes[context], returned == context
        if channel.live >> context & 1 or is_back:
            sends, drops = sender == context, False
            if s.contexts[context].aborted:
                # What would go to the link is dropped, in the same turns.
                choice = pick(lane.remote_valid != 0, lane.has_ahead != 0, lane.link_last)
                if choice >= 0:
                    lane.link_last = choice
                    sends, drops = True, choice == 0
                    channel.awake |= MARK.link_merge
            else:
                drops = remote
            step_lane(s, number, context, reader == context, sends and not drops, is_back)
            _step_remote(s, channel, lane, sends and drops)


@inlined
def _give(s, number, channel, inputs, levels, heads):
    """The arbiter's choice into ``issue``, and the link's.

    Returns
    -------
    popped, pushed : int
    reader, sender : int
        Context whose lane reads, and whose packet is for the link, or -1.
    remote : bool
        That is a remote store.
    """
    i = natural(number * CHANNEL_INPUTS)
    popped = pushed = 0
    reader = _reading_lane(s, channel) if channel.live else -1
    if levels & _ACCESSES or reader >= 0:
        channel.awake |= MARK.access_merge
        popped, pushed, reader = _issue(s, channel, levels, heads, reader)
    elif channel.starved | channel.compute_starved:
        channel.awake |= MARK.access_merge
        channel.starved = channel.compute_starved = 0
    sender, remote = -1, False
    if channel.live:
        more, sender, remote = _link(s, number, channel, levels, heads, inputs[i + I.link_room])
        pushed += more
        if sender >= 0:
            channel.lanes[natural(sender)].on_link += 1
            channel.awake |= MARK.link_merge | MARK.watch
    return popped, pushed, reader, sender, remote


@inlined
def _check(s, number, channel, levels, heads):
    """What is between the ports and the accesses; gives the queues that it leaves and enters, and
    the errors of a store and of a packet."""
    popped = pushed = failure = second = 0
    if has(levels, Q.classified):
        popped, pushed = _route(s, number, channel, levels, heads)
    if has(levels, Q.stores):
        more_popped, more_pushed, failure = classify_store(s, channel, levels, heads)
        popped += more_popped
        pushed += more_pushed
        if more_popped:  # also of what is dropped
            channel.awake |= MARK.classified
    if has(levels, Q.inbound):
        more_popped, more_pushed, second = check_packet(s, channel, levels, heads)
        popped += more_popped
        pushed += more_pushed
        if more_popped:
            channel.awake |= MARK.updates
    return popped, pushed, failure, second


@inlined
def _measure(s, channel, occupancy, start):
    """What the arbiter knows of the DRAM's queue."""
    if start or channel.measuring:
        channel.awake |= MARK.access_merge
        measure(s.config.arbiter, channel, start)
    if occupancy != channel.occupancy:
        channel.awake |= MARK.access_merge
        channel.occupancy = occupancy


@inlined
def _note_rooms(s, channel, popped, pushed):
    """The queues that are awake in this cycle, and what is so for a cycle more."""
    awake = channel.awake | (popped | pushed) & _ROOMS
    came = channel.comes | (popped & MARK.stores != 0) << 1
    came |= (popped & MARK.inbound != 0) << 2 | (channel.corrupt != 0) << 3
    lasts, channel.came, channel.comes = came | channel.came, came, 0
    if lasts:
        if lasts & 1:
            awake |= MARK.watch
        if lasts & 2:
            channel.awake_more += MORE.store_error
        if lasts & 4:
            channel.awake_more += MORE.packet_error
        if lasts & 8:
            channel.awake_more += MORE.issue_ack_error
    if s.gpu.arms:
        awake |= MARK.issue_ack_buffer
    channel.awake = awake


@inlined
def is_called(s, number, inputs):
    """Whether a channel whose rooms all slept in the last cycle may wake up: by its ports, or by
    the tracker's front."""
    channel, i = s.channels[natural(number)], natural(number * CHANNEL_INPUTS)
    comes = inputs[i + I.reads_valid] | inputs[i + I.stores_valid] | inputs[i + I.link_in_valid]
    comes |= inputs[i + I.issue_acks_valid] | inputs[i + I.returns_valid]
    comes |= inputs[i + I.nmc_in_valid]
    changes = (inputs[i + I.occupancy] ^ channel.occupancy) | (
        inputs[i + I.link_room] ^ channel.link_room
    )
    if comes | changes | channel.popped | channel.pushed | channel.comes:
        return True
    levels = channel.levels
    leaves = has(levels, Q.issue) and inputs[i + I.dram_ready]
    return leaves or (has(levels, Q.link) and inputs[i + I.link_out_ready])


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
    channel.popped = channel.pushed = 0
    busy, stays = look_at_lanes(s, channel)

    sends = 0
    if has(levels, Q.issue) and inputs[i + I.dram_ready]:
        popped += mark(Q.issue)
    if has(levels, Q.link) and inputs[i + I.link_out_ready]:
        popped += mark(Q.link)
        owner = natural(channel.link[front(heads, Q.link)].owner)
        channel.lanes[owner].on_link -= 1
        channel.awake |= MARK.watch
        sends = 1 << owner
    more_popped, more_pushed, reader, sender, remote = _give(
        s, number, channel, inputs, levels, heads
    )
    popped += more_popped
    pushed += more_pushed
    more_popped, more_pushed, failure, second = _check(s, number, channel, levels, heads)
    popped += more_popped
    pushed += more_pushed
    _step_lanes(s, number, channel, inputs, reader, sender, remote)
    _measure(s, channel, inputs[i + I.occupancy], start_measurement)
    channel.link_room = inputs[i + I.link_room]
    pushed += _take_inputs(s, number, inputs, levels, heads)
    channel.levels, channel.heads = commit(levels, heads, popped, pushed)
    _note_rooms(s, channel, popped, pushed)
    return failure, second, busy, stays, sends
