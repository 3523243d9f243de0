"""Offers of CUs and L2 to a channel: the next read and the next store.

Reads and stores of all kernels are in the same queues.
"""

import numpy as np

from sysmodel.engine.codes import END_OF_TILE, STORE
from sysmodel.engine.ports import I
from sysmodel.gpu.address_spaces import CONTEXT_COLLECTIVE, CONTEXT_NONE
from sysmodel.gpu.collective import (
    collective_hit,
    collective_next_read,
    collective_read_taken,
    collective_store,
    collective_store_left,
)
from sysmodel.gpu.fetch import dispatch_index_of
from sysmodel.gpu.l2 import l2_holds
from sysmodel.gpu.l2_write import next_write_back, pop_write_back
from sysmodel.gpu.stores import pop_store, store_held_by_link
from sysmodel.gpu.workgroups import MODE_GEMM
from sysmodel.lib.compiled import inlined
from sysmodel.lib.interleave import local_of_atom, system_atom
from sysmodel.memory.accesses import COLLECTIVE_TAG, MISSES, value_of

__all__ = [
    "offer_read",
    "offer_store",
]

# Source of the access that a port offers, or took last.
_TAKEN_KERNEL, _TAKEN_COLLECTIVE, _KERNEL, _COLLECTIVE = range(4)


@inlined
def _collective_first(offer, kernel_waits, begin):
    """Return True if a port offers an access of the collective.

    An offer stays until it is taken; then the other source has its turn.
    """
    if offer == _COLLECTIVE:
        return True
    return begin and offer != _KERNEL and not (kernel_waits > 0 and offer == _TAKEN_COLLECTIVE)


@inlined
def offer_read(s, g, c, now, inputs, ready):
    """Offer the next read of a collective or of the L2, which take turns."""
    f, gpu = s.fixed[0], s.gpu[g]
    q = g * f.channels + c
    channel = s.channel[q]
    inputs[I.reads_valid] = 0
    if not gpu.tasks and channel.misses == 0:
        return
    atom, wave = np.int64(-1), np.int64(0)
    if gpu.tasks and _collective_first(channel.read_offer, channel.misses, True):
        atom, wave = collective_next_read(s, g, channel, c, now)
        if f.uses_l2 and atom >= 0:
            if l2_holds(s.l2, q, local_of_atom(atom, f.offset_bits, f.system_channels)):
                collective_hit(s, g, channel, wave, now)
                atom = np.int64(-1)
    if atom >= 0:
        inputs[I.reads_valid] = 1
        inputs[I.reads_atom] = atom
        inputs[I.reads_tag] = wave | COLLECTIVE_TAG
        channel.read_offer = _TAKEN_COLLECTIVE if ready else _COLLECTIVE
        if ready:
            collective_read_taken(s, g, channel)
    elif channel.misses > 0:
        channel.read_offer = _TAKEN_KERNEL if ready else _KERNEL
        inputs[I.reads_valid] = 1
        inputs[I.reads_atom] = system_atom(
            c, channel.miss_atom[channel.miss_head], f.offset_bits, f.system_channels
        )
        inputs[I.reads_tag] = 0
        if ready:
            channel.miss_head = (channel.miss_head + 1) & (MISSES - 1)
            channel.misses -= 1


@inlined
def _address_for_owner(s, g, entry, inputs):
    """Address a store of a fused GEMM: at the place of its contribution, which is in another GPU's
    memory unless the tile is this GPU's own."""
    atom = s.owner_atom[g, entry]
    leaves = atom != s.output_atom[entry]
    inputs[I.stores_atom] = atom
    inputs[I.stores_context] = CONTEXT_COLLECTIVE if leaves else CONTEXT_NONE
    inputs[I.stores_dispatch_index] = 0
    inputs[I.stores_wavefront] = 0


@inlined
def _gemm_store(s, g, channel, now, inputs, ready, space):
    """Offer the oldest store or end-of-tile marker of a channel's kernels.

    A store that is refused waits for the link while the hardware has no ``space``, a bit for each
    context, for remote stores of its kernel's context; otherwise it waits for the memory.
    """
    f, head = s.fixed[0], channel.store_head
    w, entry = np.int64(channel.store_workgroup[head]), np.int64(channel.store_entry[head])
    kernel = s.kernel[g, s.kernel_of[w]]
    inputs[I.stores_valid] = 1
    inputs[I.stores_context] = kernel.space
    index = dispatch_index_of(kernel, w)
    inputs[I.stores_dispatch_index] = kernel.index_base + index
    if entry >= 0:
        inputs[I.stores_kind] = STORE
        inputs[I.stores_atom] = s.output_atom[entry]
        inputs[I.stores_wavefront] = s.output_wave[entry]
        if s.owner_atom.shape[1] > 0:
            _address_for_owner(s, g, entry, inputs)
        if f.with_data:
            value_of(s, g, w, s.output_atom[entry], inputs)
    else:
        wave = -1 - entry
        inputs[I.stores_kind] = END_OF_TILE
        inputs[I.stores_atom] = s.output_atom[s.output_start[w]]
        inputs[I.stores_wavefront] = wave
        # Without a GEMM the contribution to a tracked tile is in memory.
        stored = kernel.mode == MODE_GEMM or index < kernel.tracked_first
        inputs[I.stores_tile_atoms] = s.stored_per_wave[g, w, wave] if stored else 0
        inputs[I.stores_shares] = 1
        inputs[I.stores_outer_edge] = s.outer_edge[w]
        inputs[I.stores_inner_edge] = s.inner_edge[w]
    if ready:
        pop_store(s, g, channel, now)
    elif space >> np.uint64(kernel.context) & np.uint64(1) == 0:
        store_held_by_link(channel, now)


@inlined
def _offer_write_back(s, q, c, inputs, ready):
    """Offer the next write-back of the L2."""
    f = s.fixed[0]
    atom = next_write_back(s.l2, q)
    inputs[I.stores_valid] = 1
    inputs[I.stores_kind] = STORE
    inputs[I.stores_atom] = system_atom(c, atom, f.offset_bits, f.system_channels)
    inputs[I.stores_context] = CONTEXT_NONE
    inputs[I.stores_dispatch_index] = 0
    inputs[I.stores_wavefront] = 0
    if ready:
        pop_write_back(s.l2, q)


@inlined
def offer_store(s, g, c, now, inputs, ready, link_free, space):
    """Offer the next store of the kernels or of a collective, which take turns.

    ``space`` has a bit for each context with space for remote stores.
    While the link is blocked, a collective's store waits in its CU and does not delay a kernel's.
    """
    f, gpu = s.fixed[0], s.gpu[g]
    channel, l2 = s.channel[g * f.channels + c], s.l2.channels[g * f.channels + c]
    inputs[I.stores_valid] = 0
    if not gpu.tasks and channel.store_count | l2.write_backs == 0:
        return
    waiting = l2.write_backs if f.cached_stores else channel.store_count
    atom, address_space = np.int64(-1), np.int64(0)
    if gpu.tasks and _collective_first(channel.store_offer, waiting, link_free):
        atom, address_space = collective_store(s, g, channel, c, now)
    if atom >= 0:
        inputs[I.stores_valid] = 1
        inputs[I.stores_kind] = STORE
        inputs[I.stores_atom] = atom
        inputs[I.stores_context] = address_space
        inputs[I.stores_dispatch_index] = 0
        inputs[I.stores_wavefront] = 0
        channel.store_offer = _TAKEN_COLLECTIVE if ready else _COLLECTIVE
        if ready:
            collective_store_left(s, g, channel)
            if address_space == CONTEXT_NONE:
                gpu.kept[gpu.communication_activity] += 1
    elif waiting > 0:
        channel.store_offer = _TAKEN_KERNEL if ready else _KERNEL
        if f.cached_stores:
            _offer_write_back(s, g * f.channels + c, c, inputs, ready)
        else:
            _gemm_store(s, g, channel, now, inputs, ready, space)
