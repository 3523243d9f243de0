"""Stores of the compute units: a workgroup's output tile, then end-of-tile markers."""

import numpy as np

from sysmodel.lib.compiled import compiled, inlined

from .events import STORE, heap_push
from .fetch import workgroup_at
from .pipe import end_turn
from .slots import AWAITS_LINK, EMPTY, STORES_OUTPUT, enter
from .workgroups import MODE_SCATTER, STORES

__all__ = ["begin_stores", "emit", "pop_store", "store_held_by_link"]


@compiled
def begin_stores(s, g, slot, now):
    gpu = s.gpu[g]
    kernel = s.kernel[g, gpu.slot_kernel[slot]]
    w = workgroup_at(kernel, gpu.dispatch_index[slot])
    enter(gpu, slot, STORES_OUTPUT, now)
    gpu.emit_from[slot] = now
    gpu.emission_held[slot] = 0
    gpu.emitted[slot] = 0
    output_atoms = s.stored_atoms[g, w]
    if kernel.mode == MODE_SCATTER and gpu.dispatch_index[slot] >= kernel.tracked_first:
        gpu.emitted[slot] = output_atoms
        output_atoms = 0
    gpu.remaining[slot] = output_atoms + _ending_waves(s, kernel, w)
    if gpu.remaining[slot] == 0:
        _finish(s, g, slot, now, 0)
    else:
        heap_push(gpu, now, slot * 8 + STORE)


@inlined
def _queue_store(s, g, channel, slot, w, entry, now):
    """Queue a store; it leaves the CU when it enters the store buffer, the head of the queue."""
    i = (channel.store_head + channel.store_count) & (STORES - 1)
    channel.store_slot[i] = slot
    channel.store_workgroup[i] = w
    channel.store_entry[i] = entry
    channel.store_held[i] = channel.link_held
    channel.store_count += 1
    if channel.store_count <= s.fixed[0].store_buffer:
        _store_left(s, g, slot, now, 0)


@inlined
def store_held_by_link(channel, now):
    """Count a cycle in which the oldest store waits for the link."""
    channel.link_held += 1
    channel.link_held_at = now


@inlined
def pop_store(s, g, channel, now):
    """Remove the oldest store, which was taken; the first waiting one enters the store buffer."""
    depth = s.fixed[0].store_buffer
    if channel.store_count > depth:
        i = (channel.store_head + depth) & (STORES - 1)
        held = channel.link_held - channel.store_held[i]
        _store_left(s, g, np.int64(channel.store_slot[i]), now, held)
    channel.store_head = (channel.store_head + 1) & (STORES - 1)
    channel.store_count -= 1


@compiled
def emit(s, g, slot, now):
    """Queue the stores that the CU has issued by now; a CU stores at a fixed rate."""
    f, gpu = s.fixed[0], s.gpu[g]
    kernel = s.kernel[g, gpu.slot_kernel[slot]]
    w = workgroup_at(kernel, gpu.dispatch_index[slot])
    first = s.output_start[w]
    output_atoms = s.stored_atoms[g, w]
    i = gpu.emitted[slot]
    while i < output_atoms:
        due = gpu.emit_from[slot] + i * kernel.store_cycles // output_atoms
        channel = s.channel[g * f.channels + s.output_channel[first + i]]
        if due > now or channel.store_count == STORES:
            if due <= now:
                _emission_held(gpu, channel, slot, now)
            gpu.emitted[slot] = i
            heap_push(gpu, max(due, now + 1), slot * 8 + STORE)
            return
        _queue_store(s, g, channel, slot, w, first + i, now)
        i += 1
    gpu.emitted[slot] = i
    channel = s.channel[g * f.channels + gpu.dispatch_index[slot] % f.channels]
    if channel.store_count > STORES - kernel.waves:
        _emission_held(gpu, channel, slot, now)
        heap_push(gpu, now + 1, slot * 8 + STORE)
        return
    for v in range(_ending_waves(s, kernel, w)):
        _queue_store(s, g, channel, slot, w, -1 - v, now)


@inlined
def _ending_waves(s, kernel, w):
    """Number of a workgroup's wavefronts that end their tile: all up to the last one that writes.
    The tiles of some may have no atoms."""
    ends = 0
    for v in range(kernel.waves):
        if s.per_wave[w, v] > 0:
            ends = v + 1
    return ends


@inlined
def _emission_held(gpu, channel, slot, now):
    """Count a cycle in which a slot finds a channel's queue full, if the link keeps it full."""
    if channel.link_held_at == now - 1:
        gpu.emission_held[slot] += 1


@inlined
def _store_left(s, g, slot, now, held):
    """Count a store or end-of-tile marker of a slot that has left the CU, after the link ``held``
    it for some cycles."""
    gpu = s.gpu[g]
    gpu.remaining[slot] -= 1
    if gpu.remaining[slot] == 0:
        _finish(s, g, slot, now, held)


@compiled
def _finish(s, g, slot, now, held):
    """Free a slot whose last store the link ``held`` for some cycles."""
    f, gpu = s.fixed[0], s.gpu[g]
    kernel, dispatch_index = s.kernel[g, gpu.slot_kernel[slot]], gpu.dispatch_index[slot]
    held += gpu.emission_held[slot]
    gpu.slot_cycles[AWAITS_LINK] += held
    gpu.slot_since[slot] += held
    s.stores_held[g, kernel.first_row + dispatch_index] = held
    enter(gpu, slot, EMPTY, now)
    end_turn(s, g, slot, now)
    kernel.finished += 1
    s.stage_end[g, kernel.first_stage + dispatch_index // f.slots] = now
    gpu.free_ring[(gpu.free_head + gpu.free_count) % f.slots] = slot
    gpu.free_count += 1
