"""The cycle loop: GPUs, links, memory and the T3 hardware, one memory clock at a time."""

from collections import namedtuple

import numpy as np

from .bus import bus_idle, drive_bus
from .collective import (
    collective_next_read,
    collective_read_back,
    collective_read_taken,
    collective_store,
    collective_store_left,
    step_done,
)
from .compiled import compiled
from .dram import dram_level, dram_push, dram_step
from .interleave import local_of_atom, system_atom
from .l2 import l2_access, l2_fill
from .link import can_send, deliver, offer_credit, send
from .memory import (
    ACCESS_UPDATE,
    COLLECTIVE_TAG,
    accept,
    issue,
    reduce_results,
    release,
    value_of,
)
from .native.call import call_step
from .ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, G, H, I, O
from .producer import buffer_progress, produce, store_left

__all__ = [
    "CONTEXT_COLLECTIVE",
    "CONTEXT_GEMM",
    "CONTEXT_NONE",
    "SAMPLES",
    "MISSES",
    "NEVER",
    "UNTIL_COLLECTIVE",
    "UNTIL_COPIED",
    "UNTIL_GEMM",
    "UNTIL_PROGRAMMED",
    "UNTIL_QUIET",
    "UNTIL_REDUCED",
    "System",
    "advance",
]

CONTEXT_NONE, CONTEXT_GEMM, CONTEXT_COLLECTIVE = 0, 1, 2

(
    NEVER,
    UNTIL_PROGRAMMED,
    UNTIL_GEMM,
    UNTIL_REDUCED,
    UNTIL_COLLECTIVE,
    UNTIL_QUIET,
    UNTIL_COPIED,
) = range(7)

# Cumulative counters of GPU 0, sampled for the timeline.
SAMPLES = (
    "gemm_read", "gemm_write", "rs_read", "rs_write", "ag_read", "ag_write",
    "link", "tiles", "occupancy", "finished",
)  # fmt: skip

MISSES = 4096  # bounded by the L2's MSHRs and the sectors of a line

System = namedtuple(
    "System",
    [
        "gpus",
        "channels",
        "offset_bits",
        "channel_bits",
        "queue_depth",
        "hit_latency",
        "l2_requests",  # most line requests that a channel's slices take in a cycle
        "producer",
        "collective",
        "link",
        "bus",
        "flight",
        "contents",
        "dram",
        "l2",
        "inputs",  # [g, word]
        "outputs",
        "now",  # [1]
        "start",  # [g]: cycle in which the GPU begins the kernel
        "first_workgroup",
        "tracked_first",
        "flow",  # [1]: the hardware limits dispatch
        "work",  # [1]: the kernel is running
        "store_context",  # [g]: of the collective's stores; CONTEXT_NONE: they are local
        "expected",  # [g]: arrivals to wait for
        "miss_atom",  # [q, entry]: reads of the L2 for the memory
        "miss_head",
        "miss_count",
        "waiters",  # scratch of l2_fill
        "finish_cycle",  # [g]: last workgroup's end
        "done_cycle",  # [g]: last tracked tile complete
        "first_send",  # [g]
        "wave_first",  # [workgroup, wavefront]: see kernel.Sectors
        "wave_start",
        "stalls",  # [g]: cycles in which the tracker kept the DRAM from issuing
        "sample",  # [entry, counter]
        "sample_time",
        "sample_state",  # count, interval, next
    ],
)


@compiled
def _l2(s, g, q, now):
    """Serve the requests at the head of the channel's queue."""
    r = s.producer.requests
    served = 0
    while r.count[q] > 0 and served < s.l2_requests and s.miss_count[q] <= MISSES - 4:
        head = r.head[q]
        line, mask, token = r.line[q, head], r.mask[q, head], r.token[q, head]
        hit, new, merged, ok = l2_access(s.l2, q, line, mask, token)
        if not ok:
            return
        r.head[q] = (head + 1) & (r.line.shape[1] - 1)
        r.count[q] -= 1
        served += 1
        missing = 0
        for sector in range(4):
            bit = 1 << sector
            if (new | merged) & bit:
                missing += 1
            if new & bit:
                i = (s.miss_head[q] + s.miss_count[q]) & (MISSES - 1)
                s.miss_atom[q, i] = line * 4 + sector
                s.miss_count[q] += 1
        buffer_progress(s.producer, g, token, missing - 1, now + s.hit_latency)


@compiled
def _read_data(s, g, q, now, inputs, base):
    """Data of reads that are due: to the L2, to the collective, or to the DMA engine."""
    f = s.flight
    inputs[base + I.returns_valid] = 0
    while f.back_count[q] > 0 and f.back_time[q, f.back_head[q]] <= now:
        token = f.back_token[q, f.back_head[q]]
        f.back_head[q] = (f.back_head[q] + 1) & (f.back_time.shape[1] - 1)
        f.back_count[q] -= 1
        tag = f.tag[q, token]
        if f.origin[q, token] == 1:
            inputs[base + I.returns_valid] = 1
            inputs[base + I.returns_slot] = tag
            if s.contents.payload:
                for word in range(4):
                    inputs[base + I.returns_data_0 + word] = f.data[q, token, word]
        elif tag & COLLECTIVE_TAG:
            collective_read_back(s.collective, q, tag & (COLLECTIVE_TAG - 1))
        else:
            local = local_of_atom(f.atom[q, token], s.offset_bits, s.channel_bits)
            count = l2_fill(s.l2, q, local, s.waiters)
            for i in range(count):
                buffer_progress(s.producer, g, s.waiters[i], -1, now + s.hit_latency)
        release(f, q, token)


@compiled
def _reads(s, g, c, q, inputs, base, ready):
    """Offer the next read: of a collective if one runs, else of the L2."""
    inputs[base + I.reads_valid] = 0
    atom, tag = collective_next_read(s.collective, g, q)
    if atom >= 0:
        inputs[base + I.reads_valid] = 1
        inputs[base + I.reads_atom] = atom
        inputs[base + I.reads_tag] = tag | COLLECTIVE_TAG
        if ready:
            collective_read_taken(s.collective, g, q)
    elif s.miss_count[q] > 0:
        inputs[base + I.reads_valid] = 1
        inputs[base + I.reads_atom] = system_atom(
            c, s.miss_atom[q, s.miss_head[q]], s.offset_bits, s.channel_bits
        )
        inputs[base + I.reads_tag] = 0
        if ready:
            s.miss_head[q] = (s.miss_head[q] + 1) & (MISSES - 1)
            s.miss_count[q] -= 1


@compiled
def _stores(s, g, q, now, inputs, base, ready):
    """Offer the next store or tile end."""
    inputs[base + I.stores_valid] = 0
    t = s.producer.stores
    if t.count[q] > 0:
        p = s.producer
        head = t.head[q]
        slot, what = np.int64(t.slot[q, head]), np.int64(t.what[q, head])
        w = p.place[g, slot] + s.first_workgroup[g]
        if w >= p.fixed.workgroups:
            w -= p.fixed.workgroups
        inputs[base + I.stores_valid] = 1
        inputs[base + I.stores_context] = CONTEXT_GEMM
        inputs[base + I.stores_workgroup] = w
        if what >= 0:
            inputs[base + I.stores_kind] = 0
            inputs[base + I.stores_atom] = p.sector_atom[what]
            inputs[base + I.stores_wavefront] = p.sector_wave[what]
            if s.contents.payload:
                value_of(s.contents, g, p.sector_atom[what], inputs, base)
        else:
            wave = -1 - what
            inputs[base + I.stores_kind] = 1
            inputs[base + I.stores_atom] = p.sector_atom[p.sector_start[w]]
            inputs[base + I.stores_wavefront] = wave
            inputs[base + I.stores_sectors] = p.per_wave[w, wave]
            inputs[base + I.stores_row_edge] = p.row_edge[w]
            inputs[base + I.stores_run_edge] = p.run_edge[w]
        if ready:
            t.head[q] = (head + 1) & (t.slot.shape[1] - 1)
            t.count[q] -= 1
            store_left(p, g, slot, now)
        return
    if s.collective.operands[g] == 0:
        return
    atom = collective_store(s.collective, q)
    if atom >= 0:
        inputs[base + I.stores_valid] = 1
        inputs[base + I.stores_kind] = 0
        inputs[base + I.stores_atom] = atom
        inputs[base + I.stores_context] = s.store_context[g]
        inputs[base + I.stores_workgroup] = 0
        inputs[base + I.stores_wavefront] = 0
        if ready:
            collective_store_left(s.collective, q)


@compiled
def _stand_in(s, g, inputs, base):
    """The first sector that a tile has in the simulated channels speaks for the tile's first
    sector, which lies in a channel that may not be simulated: the tracker learns the tile's true
    start."""
    if inputs[base + I.notices_valid] and inputs[base + I.notices_access] == ACCESS_UPDATE:
        w = np.int64(inputs[base + I.notices_place]) + s.first_workgroup[g]
        if w >= s.producer.fixed.workgroups:
            w -= s.producer.fixed.workgroups
        v = np.int64(inputs[base + I.notices_wavefront])
        if np.int64(inputs[base + I.notices_atom]) == s.wave_first[w, v]:
            inputs[base + I.notices_atom] = s.wave_start[w, v]


@compiled
def _channel(s, g, c, now, inputs, outputs):
    """One channel's cycle: what the memory, the CUs and the links do with this cycle's outputs."""
    q = g * s.channels + c
    base, out = c * CHANNEL_INPUTS, c * CHANNEL_OUTPUTS
    if s.contents.payload:
        inputs[base + I.nmc_in_valid] = 0
        reduce_results(s.contents, g, q, outputs, out)
    inputs[base + I.notices_valid] = 0
    allowed = outputs[out + O.notices_ready] == 1
    if not allowed:
        s.stalls[g] += 1
    token = dram_step(s.dram, q, now, allowed)
    if token >= 0:
        issue(s.flight, s.contents, g, c, token, now, inputs, base)
        _stand_in(s, g, inputs, base)
    _read_data(s, g, q, now, inputs, base)
    if s.producer.requests.count[q] > 0:
        _l2(s, g, q, now)
    _reads(s, g, c, q, inputs, base, outputs[out + O.reads_ready] == 1)
    _stores(s, g, q, now, inputs, base, outputs[out + O.stores_ready] == 1)
    deliver(s.link, q, now, inputs, base, outputs[out + O.link_in_ready] == 1)
    inputs[base + I.link_out_ready] = 0
    if can_send(s.link, g, c):
        inputs[base + I.link_out_ready] = 1
        if outputs[out + O.link_out_valid]:
            if s.first_send[g] < 0:
                s.first_send[g] = now
            send(s.link, g, c, now, outputs)
    level = dram_level(s.dram, q)
    inputs[base + I.dram_ready] = 0
    if level < s.queue_depth:
        inputs[base + I.dram_ready] = 1
        if outputs[out + O.dram_valid]:
            token = accept(s.flight, g, c, outputs)
            local = local_of_atom(s.flight.atom[q, token], s.offset_bits, s.channel_bits)
            dram_push(s.dram, q, now, s.flight.access[q, token], local, token)
            level += 1
    inputs[base + I.occupancy] = level


@compiled
def _quiet(s, g):
    """Nothing of GPU ``g`` is under way outside the hardware."""
    for c in range(s.channels):
        q = g * s.channels + c
        if dram_level(s.dram, q) or s.flight.back_count[q] or s.link.count[q]:
            return False
        if s.outputs[g, c * CHANNEL_OUTPUTS + O.dram_valid]:
            return False
    return True


@compiled
def _arrived(s, g):
    total = np.int64(0)
    for c in range(s.channels):
        total += np.int64(s.outputs[g, c * CHANNEL_OUTPUTS + O.stored])
    return total >= s.expected[g]


@compiled
def _reached(s, until):
    if until == NEVER:
        return False
    gpu = s.channels * CHANNEL_OUTPUTS
    for g in range(s.gpus):
        if not bus_idle(s.bus, g):
            return False
        if until == UNTIL_GEMM:
            if s.finish_cycle[g] < 0 or not _quiet(s, g):
                return False
        elif until == UNTIL_REDUCED:
            if s.finish_cycle[g] < 0 or s.done_cycle[g] < 0:
                return False
            if not s.outputs[g, gpu + H.idle] or not _quiet(s, g):
                return False
        elif until == UNTIL_COLLECTIVE:
            if not step_done(s.collective, g) or not _arrived(s, g):
                return False
        elif until == UNTIL_QUIET:
            if not _quiet(s, g):
                return False
        elif until == UNTIL_COPIED and not (_arrived(s, g) and s.outputs[g, gpu + H.idle]):
            return False
    return True


@compiled
def _sample(s, now):
    """Note the counters; when the table is full keep every second row and double the interval."""
    count, interval = s.sample_state[0], s.sample_state[1]
    if count == s.sample.shape[0]:
        half = count // 2
        for i in range(half):
            for k in range(s.sample.shape[1]):
                s.sample[i, k] = s.sample[2 * i, k]
            s.sample_time[i] = s.sample_time[2 * i]
        count = half
        interval *= 2
        s.sample_state[1] = interval
        if now % interval:
            s.sample_state[0] = count
            s.sample_state[2] = now - now % interval + interval
            return
    row = s.sample[count]
    for i in range(6):
        row[i] = s.flight.traffic[0, i]
    row[6] = s.link.sent_bytes[0]
    row[7] = s.outputs[0, s.channels * CHANNEL_OUTPUTS + H.tiles]
    row[8] = s.dram.channel[0].occupancy_sum
    row[9] = s.producer.finished[0]
    s.sample_time[count] = now
    s.sample_state[0] = count + 1
    s.sample_state[2] = now + interval


@compiled
def advance(s, hardware, until, most):
    """Run until the condition holds on all GPUs, for at most ``most`` cycles.

    ``hardware`` holds the address of the engine's step function and, for each GPU, the instance's
    handle and the addresses of its rows of inputs and outputs.

    Returns whether the condition holds.
    """
    gpu_in, gpu_out = s.channels * CHANNEL_INPUTS, s.channels * CHANNEL_OUTPUTS
    lag = s.link.limits.shape[1]
    for _ in range(most):
        if _reached(s, until):
            return True
        now = s.now[0]
        if now >= s.sample_state[2]:
            _sample(s, now)
        for g in range(s.gpus):
            inputs, outputs = s.inputs[g], s.outputs[g]
            if s.work[0] and now >= s.start[g] and s.finish_cycle[g] < 0:
                limit = np.int64(1 << 40)
                if s.flow[0]:
                    limit = np.int64(outputs[gpu_out + H.dispatch_limit])
                produce(s.producer, g, now, limit, s.first_workgroup, s.tracked_first)
                if s.producer.finished[g] == s.producer.fixed.workgroups:
                    s.finish_cycle[g] = now
            if s.done_cycle[g] < 0 and outputs[gpu_out + H.done]:
                s.done_cycle[g] = now
            offer_credit(s.link, g)
            for i in range(s.channels):
                # The link's rate is shared: who comes first takes turns.
                c = i + now % s.channels
                _channel(s, g, c - s.channels if c >= s.channels else c, now, inputs, outputs)
            drive_bus(s.bus, g, inputs, gpu_in, outputs, gpu_out)
            k = s.link
            downstream = 0 if k.mirror else (g + s.gpus - 1) % s.gpus
            k.limits[g, now % lag] = np.int64(outputs[gpu_out + H.limit_out])
            inputs[gpu_in + G.limit_in] = np.uint64(k.limits[downstream, (now + 1) % lag])
        for g in range(s.gpus):
            call_step(hardware[0], hardware[1 + 3 * g], hardware[2 + 3 * g], hardware[3 + 3 * g])
        s.now[0] = now + 1
    return _reached(s, until)
