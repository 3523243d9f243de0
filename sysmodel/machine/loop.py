"""The cycle loop: GPUs, links, memory and the T3 hardware, one memory clock at a time."""

import numpy as np

from sysmodel.engine.codes import COMMUNICATION, END_OF_TILE, STORE, UPDATE
from sysmodel.engine.native.call import call_step
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    DATA_WORDS,
    REQUEST,
    G,
    H,
    I,
    O,
)
from sysmodel.gpu.collective import (
    collective_next_read,
    collective_read_back,
    collective_read_taken,
    collective_store,
    collective_store_left,
    step_done,
)
from sysmodel.gpu.kernel import LINE_ATOM_BITS, LINE_ATOMS
from sysmodel.gpu.l2 import l2_access, l2_fill
from sysmodel.gpu.l2_write import l2_flush, l2_write, next_write_back, pop_write_back
from sysmodel.gpu.producer import (
    REQUESTS,
    STORES,
    buffer_progress,
    pop_store,
    produce,
    workgroup_at,
)
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import local_of_atom, system_atom
from sysmodel.lib.phases import AG, GEMM, RS
from sysmodel.lib.ring import downstream
from sysmodel.memory.accesses import (
    COLLECTIVE_TAG,
    MISSES,
    TOKENS,
    accept,
    issue,
    reduce_results,
    release,
    value_of,
)
from sysmodel.memory.dram import dram_level, dram_push, dram_step
from sysmodel.network.link import LAG, can_send, deliver, offer_credit, receiver_of, send

from .bus import bus_idle, drive_bus
from .state import State

__all__ = [
    "CONTEXT_COLLECTIVE",
    "CONTEXT_GEMM",
    "CONTEXT_NONE",
    "NEVER",
    "UNTIL_COLLECTIVE",
    "UNTIL_COPIED",
    "UNTIL_GEMM",
    "UNTIL_PROGRAMMED",
    "UNTIL_QUIET",
    "UNTIL_REDUCED",
    "advance",
]

CONTEXT_NONE, CONTEXT_GEMM, CONTEXT_COLLECTIVE = 0, 1, 2

_NO_LIMIT = np.int64(1) << 40  # beyond every dispatch index

(
    NEVER,
    UNTIL_PROGRAMMED,
    UNTIL_GEMM,
    UNTIL_REDUCED,
    UNTIL_COLLECTIVE,
    UNTIL_QUIET,
    UNTIL_COPIED,
) = range(7)


@inlined
def _l2_stores(s, g, q, now):
    """Write the stores at the head of the channel's queue; returns the lookups that took."""
    f, channel = s.fixed[0], s.channel[q]
    line, mask = np.int64(-1), np.int64(0)
    count = 0
    while count < channel.store_count:
        what = np.int64(channel.store_what[(channel.store_head + count) & (STORES - 1)])
        if what >= 0:
            local = local_of_atom(s.output_atom[what], f.offset_bits, f.channel_bits)
            if line >= 0 and local >> LINE_ATOM_BITS != line:
                break
            line = local >> LINE_ATOM_BITS
            mask |= np.int64(1) << (local & (LINE_ATOMS - 1))
        count += 1
    if line >= 0 and not l2_write(s.l2, q, line, mask, f.write_back_queue):
        return 0
    for _ in range(count):
        pop_store(s, g, channel, now)
    return 1 if line >= 0 else 0


@inlined
def _l2(s, g, q, now):
    """Serve what is at the heads of the channel's queues: a line of stores, then reads; where there
    is one lookup in a cycle they take turns."""
    f, channel = s.fixed[0], s.channel[q]
    served = 0
    if f.cached_stores and channel.store_count > 0 and (f.l2_requests > 1 or now & 1):
        served = _l2_stores(s, g, q, now)
    while (
        channel.request_count > 0
        and served < f.l2_requests
        and channel.misses <= MISSES - LINE_ATOMS
        and s.l2.channels[q].write_backs <= f.write_back_queue
    ):
        head = channel.request_head
        line = channel.request_line[head]
        token = np.int64(channel.request_token[head])
        mask = np.int64(channel.request_mask[head])
        _, new, merged, ok = l2_access(s.l2, q, line, mask, token)
        if not ok:
            return
        channel.request_head = (head + 1) & (REQUESTS - 1)
        channel.request_count -= 1
        served += 1
        missing = 0
        for atom in range(LINE_ATOMS):
            if (new | merged) >> atom & 1:
                missing += 1
            if new >> atom & 1:
                i = (channel.miss_head + channel.misses) & (MISSES - 1)
                channel.miss_atom[i] = line * LINE_ATOMS + atom
                channel.misses += 1
        buffer_progress(s.gpu[g], token, missing - 1, now + f.hit_latency)


@inlined
def _read_back(s, g, q, now, inputs):
    """The data of the oldest read: to the L2, to the collective, or to the DMA engine."""
    f, channel = s.fixed[0], s.channel[q]
    token = channel.back_token[channel.back_head]
    channel.back_head = (channel.back_head + 1) & (TOKENS - 1)
    channel.back_count -= 1
    request = channel.request[token]
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
        local = local_of_atom(request[REQUEST.atom], f.offset_bits, f.channel_bits)
        for i in range(l2_fill(s.l2, q, local, s.woken)):
            buffer_progress(s.gpu[g], s.woken[i], -1, now + f.hit_latency)
    release(channel, token)


# Whose access a port offers, or took last.
_TAKEN_KERNEL, _TAKEN_COLLECTIVE, _KERNEL, _COLLECTIVE = range(4)


@inlined
def _collective_first(offer, kernel_waits, begin):
    """Whether a port goes on with, or begins with, an access of the collective: what is offered
    stays, and after one's transfer it is the other's turn."""
    if offer == _COLLECTIVE:
        return True
    return begin and offer != _KERNEL and not (kernel_waits > 0 and offer == _TAKEN_COLLECTIVE)


@inlined
def _reads(s, gpu, channel, c, now, inputs, ready):
    """Offer the next read, of a collective or of the L2; if both have one they take turns."""
    f = s.fixed[0]
    inputs[I.reads_valid] = 0
    atom, wave = np.int64(-1), np.int64(0)
    if gpu.operands and _collective_first(channel.read_offer, channel.misses, True):
        atom, wave = collective_next_read(s, gpu, channel, c, now)
    if atom >= 0:
        inputs[I.reads_valid] = 1
        inputs[I.reads_atom] = atom
        inputs[I.reads_tag] = wave | COLLECTIVE_TAG
        channel.read_offer = _TAKEN_COLLECTIVE if ready else _COLLECTIVE
        if ready:
            collective_read_taken(f, gpu, channel)
    elif channel.misses > 0:
        channel.read_offer = _TAKEN_KERNEL if ready else _KERNEL
        inputs[I.reads_valid] = 1
        inputs[I.reads_atom] = system_atom(
            c, channel.miss_atom[channel.miss_head], f.offset_bits, f.channel_bits
        )
        inputs[I.reads_tag] = 0
        if ready:
            channel.miss_head = (channel.miss_head + 1) & (MISSES - 1)
            channel.misses -= 1


@inlined
def _gemm_store(s, g, channel, now, inputs, ready):
    """Offer the oldest store or end-of-tile marker of the kernel."""
    f = s.fixed[0]
    head = channel.store_head
    w, what = np.int64(channel.store_workgroup[head]), np.int64(channel.store_what[head])
    inputs[I.stores_valid] = 1
    inputs[I.stores_context] = CONTEXT_GEMM
    inputs[I.stores_workgroup] = w
    if what >= 0:
        inputs[I.stores_kind] = STORE
        inputs[I.stores_atom] = s.output_atom[what]
        inputs[I.stores_wavefront] = s.output_wave[what]
        if f.with_data:
            value_of(s, g, s.output_atom[what], inputs)
    else:
        wave = -1 - what
        inputs[I.stores_kind] = END_OF_TILE
        inputs[I.stores_atom] = s.output_atom[s.output_start[w]]
        inputs[I.stores_wavefront] = wave
        inputs[I.stores_tile_atoms] = s.per_wave[w, wave]
        inputs[I.stores_outer_edge] = s.outer_edge[w]
        inputs[I.stores_inner_edge] = s.inner_edge[w]
    if ready:
        pop_store(s, g, channel, now)


@inlined
def _offer_write_back(f, l2, c, inputs, ready):
    """Offer what the L2 writes back next."""
    atom = next_write_back(l2)
    inputs[I.stores_valid] = 1
    inputs[I.stores_kind] = STORE
    inputs[I.stores_atom] = system_atom(c, atom, f.offset_bits, f.channel_bits)
    inputs[I.stores_context] = CONTEXT_NONE
    inputs[I.stores_workgroup] = 0
    inputs[I.stores_wavefront] = 0
    if ready:
        pop_write_back(l2)


@inlined
def _stores(s, g, c, now, inputs, ready, link_free):
    """Offer the next store, of the kernel or of a collective; if both have one they take turns.

    A collective's store waits in its CU while the link is backed up, not in front of the kernel's.
    """
    f, gpu = s.fixed[0], s.gpu[g]
    channel, l2 = s.channel[g * f.channels + c], s.l2.channels[g * f.channels + c]
    waiting = l2.write_backs if f.cached_stores else channel.store_count
    inputs[I.stores_valid] = 0
    atom = np.int64(-1)
    if gpu.operands and _collective_first(channel.store_offer, waiting, link_free):
        atom = collective_store(s, gpu, channel, c, now)
    if atom >= 0:
        inputs[I.stores_valid] = 1
        inputs[I.stores_kind] = STORE
        inputs[I.stores_atom] = atom
        inputs[I.stores_context] = gpu.store_context
        inputs[I.stores_workgroup] = 0
        inputs[I.stores_wavefront] = 0
        channel.store_offer = _TAKEN_COLLECTIVE if ready else _COLLECTIVE
        if ready:
            collective_store_left(s, g, channel)
            if gpu.store_context == CONTEXT_NONE:
                gpu.kept += 1
    elif waiting > 0:
        channel.store_offer = _TAKEN_KERNEL if ready else _KERNEL
        if f.cached_stores:
            _offer_write_back(f, l2, c, inputs, ready)
        else:
            _gemm_store(s, g, channel, now, inputs, ready)


@inlined
def _stand_in(s, gpu, inputs):
    """The first atom that a tile has in the simulated channels speaks for the tile's first
    atom, which lies in a channel that may not be simulated: the tracker learns the true start.
    """
    if inputs[I.issue_acks_access] == UPDATE:
        w = workgroup_at(s.fixed[0], gpu, np.int64(inputs[I.issue_acks_dispatch_index]))
        v = np.int64(inputs[I.issue_acks_wavefront])
        if np.int64(inputs[I.issue_acks_atom]) == s.wave_first[w, v]:
            inputs[I.issue_acks_atom] = s.wave_start[w, v]


@inlined
def _channel(s, g, c, now, inputs, outputs):
    """One channel's cycle: what memory, CUs and links do with this cycle's outputs."""
    f, gpu = s.fixed[0], s.gpu[g]
    q = g * f.channels + c
    channel = s.channel[q]
    # Views with constant indices, which the compiler need not check.
    inputs = inputs[c * CHANNEL_INPUTS : (c + 1) * CHANNEL_INPUTS]
    outputs = outputs[c * CHANNEL_OUTPUTS : (c + 1) * CHANNEL_OUTPUTS]
    if f.with_data:
        inputs[I.nmc_in_valid] = 0
        reduce_results(s, g, channel, outputs)
    inputs[I.issue_acks_valid] = 0
    allowed = outputs[O.issue_acks_ready] == 1
    if not allowed:
        gpu.stalls += 1
    token = dram_step(s.dram, q, now, allowed)
    if token >= 0:
        issue(s, g, channel, token, now, inputs)
        if inputs[I.issue_acks_valid]:
            _stand_in(s, gpu, inputs)
    inputs[I.returns_valid] = 0
    if channel.back_count > 0 and channel.back_time[channel.back_head] <= now:
        _read_back(s, g, q, now, inputs)
    if channel.request_count > 0 or f.cached_stores and channel.store_count > 0:
        _l2(s, g, q, now)
    _reads(s, gpu, channel, c, now, inputs, outputs[O.reads_ready] == 1)
    receiver = receiver_of(s, g, c)
    sending = can_send(f, gpu, channel, receiver)
    link_free = sending or outputs[O.link_out_valid] == 0
    _stores(s, g, c, now, inputs, outputs[O.stores_ready] == 1, link_free)
    deliver(f, channel, now, inputs, outputs[O.link_in_ready] == 1)
    inputs[I.link_out_ready] = 0
    if sending:
        inputs[I.link_out_ready] = 1
        if outputs[O.link_out_valid]:
            send(s, gpu, receiver, c, now, outputs)
    level = dram_level(s.dram, q)
    inputs[I.dram_ready] = 0
    if level < f.queue_depth:
        inputs[I.dram_ready] = 1
        if outputs[O.dram_valid]:
            token = accept(gpu, channel, outputs)
            request = channel.request[token]
            local = local_of_atom(request[REQUEST.atom], f.offset_bits, f.channel_bits)
            dram_push(s.dram, q, now, request[REQUEST.access], local, token)
            level += 1
    inputs[I.occupancy] = level


@inlined
def _quiet(s, g):
    """Nothing of GPU ``g`` is under way outside the hardware."""
    channels = s.fixed[0].channels
    for c in range(channels):
        q = g * channels + c
        if dram_level(s.dram, q) or s.channel[q].back_count or s.channel[q].packet_count:
            return False
        if s.channel[q].in_unit_count:
            return False
        if s.outputs[g, c * CHANNEL_OUTPUTS + O.dram_valid]:
            return False
    return True


@inlined
def _arrived(s, g):
    total = np.int64(0)
    for c in range(s.fixed[0].channels):
        total += np.int64(s.outputs[g, c * CHANNEL_OUTPUTS + O.stored])
    return total >= s.gpu[g].expected


@inlined
def _reached(s, g, until):
    """Whether the condition holds on GPU ``g``."""
    gpu = s.gpu[g]
    if until == NEVER or not bus_idle(gpu):
        return False
    if until == UNTIL_GEMM:
        return gpu.finish_cycle >= 0 and _quiet(s, g)
    if until == UNTIL_REDUCED:
        if gpu.finish_cycle < 0 or gpu.done_cycle < 0:
            return False
        return s.outputs[g, s.fixed[0].channels * CHANNEL_OUTPUTS + H.idle] and _quiet(s, g)
    if until == UNTIL_COLLECTIVE:
        return step_done(s, g) and _arrived(s, g)
    if until == UNTIL_QUIET:
        return _quiet(s, g)
    if until == UNTIL_COPIED:
        return _arrived(s, g) and s.outputs[g, s.fixed[0].channels * CHANNEL_OUTPUTS + H.idle]
    return True


@compiled
def _sample(s, now):
    """Note the counters; when the table is full keep every second row and double the interval."""
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
    row.gemm_read, row.gemm_write = gpu.reads[GEMM], gpu.writes[GEMM]
    row.rs_read, row.rs_write = gpu.reads[RS], gpu.writes[RS]
    row.ag_read, row.ag_write = gpu.reads[AG], gpu.writes[AG]
    row.link = gpu.link_bytes[RS] + gpu.link_bytes[AG]
    row.tiles = s.outputs[0, f.channels * CHANNEL_OUTPUTS + H.tiles]
    row.occupancy = s.dram.channel[0].occupancy_sum
    row.finished = gpu.finished
    f.sample_count += 1
    f.sample_next = now + f.sample_interval


@compiled
def _drained(s, g):
    """Whether all stores of the ended kernel have left; one cycle of the L2's flush if they are in
    the L2."""
    f = s.fixed[0]
    drained = True
    for q in range(g * f.channels, (g + 1) * f.channels):
        if s.channel[q].store_count > 0:
            drained = False
        elif f.cached_stores and not l2_flush(s.l2, q, f.write_back_queue):
            drained = False
    return drained


@inlined
def _gpu(s, g, now):
    """One GPU's cycle, up to the inputs of its hardware."""
    f, gpu = s.fixed[0], s.gpu[g]
    inputs, outputs = s.inputs[g], s.outputs[g]
    own_inputs = inputs[f.channels * CHANNEL_INPUTS :]
    own_outputs = outputs[f.channels * CHANNEL_OUTPUTS :]
    if f.work and now >= gpu.start and gpu.finish_cycle < 0:
        limit = _NO_LIMIT
        if f.flow:
            limit = np.int64(own_outputs[H.dispatch_limit])
        produce(s, g, now, limit)
        if gpu.finished == f.workgroups and _drained(s, g):
            gpu.finish_cycle = now
    if gpu.done_cycle < 0 and own_outputs[H.done]:
        gpu.done_cycle = now
    offer_credit(f, gpu)
    # The link's rate is shared: who comes first takes turns.
    first = now % f.channels if f.channels > 1 else np.int64(0)
    for i in range(f.channels):
        c = i + first
        _channel(s, g, c - f.channels if c >= f.channels else c, now, inputs, outputs)
    drive_bus(gpu, own_inputs, own_outputs)
    gpu.credit_limits[now & (LAG - 1)] = np.int64(own_outputs[H.credit_limit_out])
    receiver = 0 if f.mirror else downstream(g, s.gpu.shape[0])
    sent = s.gpu[receiver].credit_limits[(now - f.link_latency) & (LAG - 1)]
    own_inputs[G.credit_limit_in] = np.uint64(sent)
    own_inputs[G.dispatched] = np.uint64(gpu.next_dispatch_index)
    own_inputs[G.finished] = np.uint64(gpu.finished)


@compiled
def advance(s: State, hardware: np.ndarray, until: int, most: int) -> bool:
    """Run until the condition holds on all GPUs, for at most ``most`` cycles.

    ``hardware`` holds the address of the engine's step function and, for each GPU, the instance's
    handle and the addresses of its rows of inputs and outputs.

    Returns whether the condition holds.
    """
    f = s.fixed[0]
    gpus = s.gpu.shape[0]
    for cycle in range(most + 1):
        reached = True
        for g in range(gpus):
            if not _reached(s, g, until):
                reached = False
                break
        if reached or cycle == most:
            return reached
        now = f.now
        if now >= f.sample_next:
            _sample(s, now)
        for g in range(gpus):
            _gpu(s, g, now)
        for g in range(gpus):
            call_step(hardware[0], hardware[1 + 3 * g], hardware[2 + 3 * g], hardware[3 + 3 * g])
        f.now = now + 1
    return False
