"""Cycle loop: GPUs, links, memory and the T3 hardware, one cycle at a time."""

import numpy as np

from sysmodel.config.limits import MOST_OCCUPANCY
from sysmodel.engine.codes import (
    COMMUNICATION,
    PACKET_UPDATE,
    PLACE,
    TICK_CYCLES,
    UPDATE,
    WRITE,
)
from sysmodel.engine.native.call import call_step
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_INPUTS,
    CONTEXT_OUTPUTS,
    DATA_WORDS,
    LINK_IN,
    LINK_OUT,
    PACKET,
    REQUEST,
    G,
    I,
    J,
    K,
    O,
)
from sysmodel.gpu.address_spaces import context_of_space
from sysmodel.gpu.collective import (
    collective_arrival,
    collective_hits_back,
    collective_read_back,
)
from sysmodel.gpu.fetch import buffer_progress, workgroup_at
from sysmodel.gpu.l2 import l2_fill
from sysmodel.gpu.l2_write import l2_keep
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import local_of_atom
from sysmodel.lib.journal import ARRIVED, SENT, STORED, note
from sysmodel.memory.accesses import (
    COLLECTIVE_TAG,
    accept,
    issue,
    next_return,
    reduce_results,
    release,
)
from sysmodel.memory.dram import dram_level, dram_push, dram_step
from sysmodel.network.link import (
    admitted,
    can_send,
    deliver,
    first_channel,
    next_channel,
    offer_credit,
    send,
    send_admission,
)
from sysmodel.network.queues import serve_queues

from .bus import drive_bus
from .kernels import step_kernels
from .l2_service import serve_l2
from .offers import offer_read, offer_store
from .rest import pass_time, rests_until
from .state import State
from .until import reached
from .wire import WIRE_STATES, pass_wire

__all__ = ["advance"]


@inlined
def _read_back(s, g, q, now, inputs):
    """Deliver the data of the oldest read to the L2, the collective or the DMA engine."""
    f, channel = s.fixed[0], s.channel[q]
    token = s.back_token[channel.token_base + channel.back_head]
    channel.back_head = (channel.back_head + 1) & f.token_mask
    channel.back_count -= 1
    request = s.request[channel.token_base + token]
    tag = request[REQUEST.tag]
    if request[REQUEST.origin] == COMMUNICATION:
        inputs[I.returns_valid] = 1
        inputs[I.returns_slot] = tag
        if f.with_data:
            for word in range(DATA_WORDS):
                inputs[I.returns_data_0 + word] = request[REQUEST.data_0 + word]
    elif tag & COLLECTIVE_TAG:
        collective_read_back(s, g, tag & (COLLECTIVE_TAG - 1))
    else:
        local = local_of_atom(request[REQUEST.atom], f.offset_bits, f.system_channels)
        for i in range(l2_fill(s.l2, q, local, s.woken)):
            buffer_progress(s.gpu[g], s.woken[i], -1, now + f.hit_latency, 1)
    release(s, channel, token)


@inlined
def _acknowledge(s, g, now, origin, inputs):
    """Complete the acknowledgement of an issued update.

    The first atom of a tile may lie in a channel that is not simulated. The tile's first atom in
    the simulated channels stands for it, so that the tracker records the true start.
    """
    access = inputs[I.issue_acks_access]
    if access == UPDATE or access == PLACE:
        owner = s.context[g, np.int64(inputs[I.issue_acks_owner])]
        slot = np.int64(inputs[I.issue_acks_dispatch_index])
        w = s.slot_row[g, owner.kernel, slot]
        v = np.int64(inputs[I.issue_acks_wavefront])
        if origin != COMMUNICATION:
            note(s, g, STORED, w, v, now)
        if np.int64(inputs[I.issue_acks_atom]) == s.wave_first[w, v]:
            inputs[I.issue_acks_atom] = s.wave_start[w, v]


@inlined
def _memory(s, g, first, now, outputs):
    """Issue the commands of every channel in a cycle.

    The memory may have several clocks in a cycle of the hardware, but each channel issues at most
    one column command.
    """
    f = s.fixed[0]
    for c in range(f.channels):
        s.channel[g * f.channels + c].issued = -1
    for clock in range(now * f.clock_divider, (now + 1) * f.clock_divider):
        for i in range(f.channels):
            c = i + first - f.channels if i + first >= f.channels else i + first
            allowed = outputs[c * CHANNEL_OUTPUTS + O.issue_acks_ready] == 1
            token = dram_step(s.dram, g * f.channels + c, clock, allowed)
            if token >= 0:
                s.channel[g * f.channels + c].issued = token


@inlined
def _note_packet(s, g, n, event, now, packet):
    """Record a packet of context ``n`` on the link in the tile trace, unless it belongs to a copy.

    Tiles are traced where every GPU sends to one.
    """
    if packet[PACKET.kind] == PACKET_UPDATE and s.receiver.shape[1] == 1:
        kernel = s.kernel[g, s.context[g, n].kernel]
        index = np.int64(packet[PACKET.slot])
        if event == SENT:
            index -= kernel.slot_offset
        note(s, g, event, workgroup_at(kernel, index), np.int64(packet[PACKET.wavefront]), now)


@inlined
def _channel(s, g, c, now, inputs, outputs):
    """Simulate one cycle of a channel: memory, CUs and links respond to the hardware's outputs."""
    f, gpu = s.fixed[0], s.gpu[g]
    q = g * f.channels + c
    channel = s.channel[q]
    # Views with constant indices, for which the compiler needs no bounds checks.
    inputs = inputs[c * CHANNEL_INPUTS : (c + 1) * CHANNEL_INPUTS]
    outputs = outputs[c * CHANNEL_OUTPUTS : (c + 1) * CHANNEL_OUTPUTS]
    if f.with_data:
        inputs[I.nmc_in_valid] = 0
        reduce_results(s, g, channel, outputs)
    inputs[I.issue_acks_valid] = 0
    if outputs[O.issue_acks_ready] == 0:
        gpu.stalls += 1
    if channel.issued >= 0:
        origin = s.request[channel.token_base + channel.issued, REQUEST.origin]
        issue(s, g, channel, channel.issued, now, inputs)
        if inputs[I.issue_acks_valid]:
            _acknowledge(s, g, now, origin, inputs)
    inputs[I.returns_valid] = 0
    if next_return(s, channel) <= now:
        _read_back(s, g, q, now, inputs)
    if channel.hit_count > 0:
        collective_hits_back(s, g, channel, now)
    if channel.request_count > 0 or f.cached_stores and channel.store_count > 0:
        serve_l2(s, g, q, now)
    offer_read(s, g, c, now, inputs, outputs[O.reads_ready] == 1)
    leaves = outputs[O.link_out_valid] != 0
    # A link with random stalls draws a number in every cycle.
    sending = (leaves or f.link_stall > 0) and can_send(s, g, c, channel, outputs)
    link_free = sending or not leaves
    space = outputs[O.store_space]
    offer_store(s, g, c, now, inputs, outputs[O.stores_ready] == 1, link_free, space)
    if deliver(s, channel, now, inputs, outputs[O.link_in_ready] == 1):
        n = context_of_space(np.int64(inputs[I.link_in_context]))
        _note_packet(s, g, n, ARRIVED, now, inputs[LINK_IN:])
    inputs[I.link_out_ready] = 0
    if sending:
        inputs[I.link_out_ready] = 1
        if leaves:
            send(s, g, c, now, outputs)
            n = np.int64(outputs[O.link_owner])
            _note_packet(s, g, n, SENT, now, outputs[LINK_OUT:])
    level = dram_level(s.dram, q)
    inputs[I.dram_ready] = 0
    if level < f.queue_depth:
        inputs[I.dram_ready] = 1
        if outputs[O.dram_valid]:
            token = accept(s, gpu, channel, outputs)
            request = s.request[channel.token_base + token]
            local = local_of_atom(request[REQUEST.atom], f.offset_bits, f.system_channels)
            access = request[REQUEST.access]
            writes = access == WRITE or access == PLACE
            arrives = request[REQUEST.origin] == COMMUNICATION and writes
            if f.uses_l2 and arrives:
                gpu.overwritten += l2_keep(s.l2, q, local, f.write_back_queue)
            if f.merges and arrives:
                collective_arrival(s, g, c, request[REQUEST.atom])
            clock = now * f.clock_divider
            dram_push(s.dram, q, clock, request[REQUEST.access], local, token)
            level += 1
    inputs[I.occupancy] = min(level, MOST_OCCUPANCY)


@compiled
def _sample(s, now):
    """Record the counters; a full table keeps every second row and doubles the interval."""
    f = s.fixed[0]
    if f.sample_count == s.samples.shape[0]:
        f.sample_count //= 2
        f.sample_interval *= 2
        for i in range(f.sample_count):
            s.samples[i] = s.samples[2 * i]
        if now % f.sample_interval:
            f.sample_next = now - now % f.sample_interval + f.sample_interval
            return
    row = s.samples[f.sample_count]
    gpu = s.gpu[0]
    row.time = now
    row.link = 0
    for activity in range(MOST_ACTIVITIES):
        row.reads[activity] = gpu.reads[activity]
        row.writes[activity] = gpu.writes[activity]
        row.link += gpu.link_bytes[activity]
    row.tiles = s.outputs[0, f.channels * CHANNEL_OUTPUTS + K.tiles]
    row.occupancy = s.dram.channel[0].occupancy_sum // f.clock_divider
    row.finished = 0
    for k in range(f.kernels):
        row.finished += s.kernel[0, k].finished
    for state in range(len(WIRE_STATES)):
        row.wire_cycles[state] = gpu.wire_cycles[state]
    f.sample_count += 1
    f.sample_next = now + f.sample_interval


@inlined
def _drive_context(s, g, n, now, inputs, outputs):
    """Drive the inputs of context ``n`` from the dispatcher and from its peers that receive.

    The contexts' ``inputs`` follow each other, and so do their ``outputs``.
    """
    context = s.context[g, n]
    kernel = s.kernel[g, context.kernel]
    limit = outputs[n * CONTEXT_OUTPUTS + K.credit_limit_out]
    send_admission(s, context, now, np.int64(limit))
    first = n * CONTEXT_INPUTS
    for peer in range(s.receiver.shape[1]):
        limit_in = np.uint64(admitted(s, s.context[s.receiver[g, peer], n], now))
        inputs[first + J.credit_limit_in_0 + peer] = limit_in
    inputs[first + J.dispatched] = np.uint64(kernel.index_base + kernel.next_dispatch_index)
    # The launch of a collective is programmed when the previous kernel has ended.
    ended = kernel.workgroups if s.gpu[g].collective_launched else kernel.finished
    inputs[first + J.finished] = np.uint64(kernel.index_base + ended)


@inlined
def _gpu(s, g, now):
    """Simulate one cycle of a GPU, up to the inputs of its hardware."""
    f, gpu = s.fixed[0], s.gpu[g]
    inputs, outputs = s.inputs[g], s.outputs[g]
    own_inputs = inputs[f.channels * CHANNEL_INPUTS :]
    own_outputs = outputs[f.channels * CHANNEL_OUTPUTS :]
    step_kernels(s, g, now, own_outputs)
    unused_bytes = offer_credit(s, gpu)
    first = now % f.channels if f.channels > 1 else np.int64(0)
    _memory(s, g, first, now, outputs)
    for plane in range(f.port_planes):
        first = c = first_channel(s, g, plane, now)
        while True:
            _channel(s, g, c, now, inputs, outputs)
            c = next_channel(f, plane, c)
            if c == first:
                break
    pass_wire(s, g, 1, unused_bytes)
    drive_bus(gpu, own_inputs, own_outputs)
    own_inputs[G.tick] = 1 if now % TICK_CYCLES == 0 else 0
    for n in range(f.contexts):
        _drive_context(s, g, n, now, own_inputs, own_outputs)


@inlined
def _all_reached(s, until):
    for context in range(s.fixed[0].contexts):
        for g in range(s.fixed[0].gpus):
            if not reached(s, g, context, until):
                return False
    return True


@compiled
def advance(s: State, hardware: np.ndarray, until: int, most: int) -> bool:
    """Run until a condition holds on all GPUs, for at most ``most`` cycles.

    ``hardware`` holds the address of the engine's step function and, for each GPU, the instance's
    handle and the addresses of its rows of inputs and outputs.

    Returns True if the condition holds.
    """
    f = s.fixed[0]
    gpus = f.gpus
    end = f.now + most
    while True:
        now = f.now
        all_reached = _all_reached(s, until)
        if all_reached or now == end:
            return all_reached
        if now >= f.sample_next:
            _sample(s, now)
        for g in range(gpus):
            _gpu(s, g, now)
        moved = False
        for g in range(gpus):
            one = hardware[1 + 3 * g : 4 + 3 * g]
            moved |= call_step(hardware[0], one[0], one[1], one[2]) != 0
        serve_queues(s, now)
        now += 1
        if not moved:
            at = rests_until(s, now, end)
            pass_time(s, now, at - now)
            now = at
        f.now = now
