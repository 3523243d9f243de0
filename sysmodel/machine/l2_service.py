"""Service of a channel's queues by the L2, in each cycle and at a kernel's end."""

import numpy as np

from sysmodel.gpu.atoms import LINE_ATOM_BITS, LINE_ATOMS
from sysmodel.gpu.fetch import buffer_progress
from sysmodel.gpu.l2 import l2_access
from sysmodel.gpu.l2_write import begin_flush, l2_drain, l2_flush, l2_write
from sysmodel.gpu.stores import pop_store
from sysmodel.gpu.workgroups import REQUESTS, STORES
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import local_of_atom
from sysmodel.memory.accesses import MISSES

__all__ = ["drained", "serve_l2"]


@inlined
def _l2_stores(s, g, q, now):
    """Write the stores at the head of the channel's queue; return the number of lookups."""
    f, channel = s.fixed[0], s.channel[q]
    line, mask = np.int64(-1), np.int64(0)
    count = 0
    while count < channel.store_count:
        entry = np.int64(channel.store_entry[(channel.store_head + count) & (STORES - 1)])
        if entry >= 0:
            local = local_of_atom(s.output_atom[entry], f.offset_bits, f.system_channels)
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
def serve_l2(s, g, q, now):
    """Serve the heads of the channel's queues: a line of stores, then reads.

    With one lookup per cycle, stores and reads take turns.
    """
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
        buffer_progress(s.gpu[g], token, missing - 1, now + f.hit_latency, 0)


@inlined
def _stores_wait(s, q, k):
    """Return True if stores of an ended kernel are in a channel's store buffer."""
    channel = s.channel[q]
    for i in range(min(channel.store_count, s.fixed[0].store_buffer)):
        w = channel.store_workgroup[(channel.store_head + i) & (STORES - 1)]
        if s.kernel_of[w] == k:
            return True
    return False


@inlined
def _channel_drained(s, g, q, k):
    f = s.fixed[0]
    if _stores_wait(s, q, k):
        return False
    if not f.cached_stores:
        return True
    if s.gpu[g].flusher != k:
        return False
    if f.flushes:
        return l2_flush(s.l2, q, f.write_back_queue)
    return l2_drain(s.l2, q)


@compiled
def drained(s, g, k):
    """Return True if all stores of the ended kernel ``k`` have left, to the memory or to an L2 that
    keeps them; otherwise, an L2 that does not keep them flushes for one cycle.

    The L2 flushes for one kernel at a time.
    """
    f, gpu = s.fixed[0], s.gpu[g]
    if gpu.flusher < 0:
        gpu.flusher = k
    empty = True
    for q in range(g * f.channels, (g + 1) * f.channels):
        if not _channel_drained(s, g, q, k):
            empty = False
    if empty and gpu.flusher == k:
        gpu.flusher = -1
        for q in range(g * f.channels, (g + 1) * f.channels):
            begin_flush(s.l2, q)
    return empty
