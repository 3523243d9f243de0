"""Memory side of a channel: accesses between the T3 hardware, the misses of the L2 and the DRAM."""

from typing import Any, TypeVar

import numpy as np

from sysmodel.engine.codes import COMMUNICATION, READ, UPDATE
from sysmodel.engine.ports import DATA_WORDS, DRAM, REQUEST, I, O
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.compiled import inlined
from sysmodel.lib.cycles import NEVER

__all__ = [
    "CHANNEL_FIELDS",
    "COLLECTIVE_TAG",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "MISSES",
    "TABLES",
    "accept",
    "issue",
    "next_return",
    "reduce_results",
    "release",
    "set_up_memory",
    "value_of",
]

# Marks a compute read of a collective's kernel, which bypasses the L2.
COLLECTIVE_TAG = 1 << 15

MISSES = 4096
_IN_UNIT = 16
_REQUEST_WORDS = len(REQUEST)
_HEADER_WORDS = REQUEST.data_0  # words moved without data

FIXED_FIELDS = [
    ("with_data", np.int64),  # data mode
    ("contents_base", np.int64),  # first atom of the output buffer, in data mode
    ("read_latency", np.int64),  # cycles from a read's issue to its data
    ("token_mask", np.int64),  # places of a channel's accesses, a power of two, less one
    ("clock_divider", np.int64),  # memory clocks in a cycle of the hardware
]

GPU_FIELDS = [
    ("communication_activity", np.int64),  # activity of the accesses of collective and link
    ("kernel_activity", np.int64),  # activity of the accesses of the kernel
    ("overwritten", np.int64),  # dirty atoms of the L2 that arrivals overwrote
    # Local stores of the collective, by its activity, which count as writes of the kernel.
    ("kept", np.int64, (MOST_ACTIVITIES,)),
    ("reads", np.int64, (MOST_ACTIVITIES,)),
    ("writes", np.int64, (MOST_ACTIVITIES,)),
    ("updates", np.int64, (MOST_ACTIVITIES,)),  # among the writes
    ("dma_reads", np.int64, (MOST_ACTIVITIES,)),  # among the reads
]

CHANNEL_FIELDS = [
    ("token_base", np.int64),  # first place of the channel in the tables
    ("free_tokens", np.int64),
    ("issued", np.int64),  # token of this cycle's column command, or -1
    # Reads with data in flight, in order.
    ("back_head", np.int64),
    ("back_count", np.int64),
    # The L2's reads that wait for the memory; bounded by its MSHRs.
    ("miss_atom", np.int64, (MISSES,)),  # atom in the channel
    ("miss_head", np.int64),
    ("misses", np.int64),
    # Source of the offered or last taken access at the compute ports: kernels or collective.
    ("read_offer", np.int64),
    ("store_offer", np.int64),
    # Atoms in the reduce unit.
    ("in_unit", np.int64, (_IN_UNIT,)),
    ("in_unit_head", np.int64),
    ("in_unit_count", np.int64),
]


TABLES: dict[str, Any] = {
    "request": np.zeros((0, len(REQUEST)), np.int64),
    "free_token": np.zeros(0, np.int64),
    "back_time": np.zeros(0, np.int64),
    "back_token": np.zeros(0, np.int64),
}
"""Tables of the state, whose lengths :func:`set_up_memory` chooses: the accesses of all channels by
token, each from its entry into the DRAM queue to the end of its data; the stacks of free tokens;
and the circular buffers of reads with data in flight, with their cycles of return."""

_State = TypeVar("_State", bound=Any)


def set_up_memory(
    state: _State, *, read_latency_cycles: int, queue_depth: int, clock_divider: int
) -> _State:
    """Set up the memory model with no access outstanding.

    Returns the state with tables that are long enough for one read per cycle.
    """
    channels = len(state.channel)
    tokens = 1 << (read_latency_cycles + queue_depth + 1).bit_length()
    state.fixed["read_latency"] = read_latency_cycles
    state.fixed["clock_divider"] = clock_divider
    state.fixed["token_mask"] = tokens - 1
    state.channel["token_base"] = np.arange(channels) * tokens
    state.channel["free_tokens"] = tokens
    replaced: _State = state._replace(
        request=np.zeros((channels * tokens, len(REQUEST)), np.int64),
        free_token=np.tile(np.arange(tokens), channels),
        back_time=np.zeros(channels * tokens, np.int64),
        back_token=np.zeros(channels * tokens, np.int64),
    )
    return replaced


@inlined
def accept(s, gpu, channel, outputs):
    """Record the access that the hardware offers; return its token."""
    channel.free_tokens -= 1
    token = s.free_token[channel.token_base + channel.free_tokens]
    request = s.request[channel.token_base + token]
    for word in range(_HEADER_WORDS):
        request[word] = outputs[DRAM + word]
    if s.fixed[0].with_data:
        for word in range(_HEADER_WORDS, _REQUEST_WORDS):
            request[word] = outputs[DRAM + word]
    access = request[REQUEST.access]
    activity = gpu.kernel_activity
    if request[REQUEST.origin] == COMMUNICATION:
        activity = gpu.communication_activity
        if access == READ:
            gpu.dma_reads[activity] += 1
    elif access == READ and request[REQUEST.tag] & COLLECTIVE_TAG:
        activity = gpu.communication_activity
    if access == READ:
        gpu.reads[activity] += 1
    else:
        gpu.writes[activity] += 1
    if access == UPDATE:
        gpu.updates[activity] += 1
    return token


@inlined
def next_return(s, channel):
    """Cycle in which the data of the next read arrive."""
    if channel.back_count == 0:
        return NEVER
    return s.back_time[channel.token_base + channel.back_head]


@inlined
def release(s, channel, token):
    s.free_token[channel.token_base + channel.free_tokens] = token
    channel.free_tokens += 1


@inlined
def issue(s, g, channel, token, now, inputs):
    """Issue an access: move its data, and acknowledge updates and communication writes."""
    f, request = s.fixed[0], s.request[channel.token_base + token]
    access = request[REQUEST.access]
    if access == READ:
        i = channel.token_base + ((channel.back_head + channel.back_count) & f.token_mask)
        s.back_time[i] = now + f.read_latency
        s.back_token[i] = token
        channel.back_count += 1
        if f.with_data:
            a = request[REQUEST.atom] - f.contents_base
            if 0 <= a < s.stored.shape[1]:
                for word in range(DATA_WORDS):
                    request[REQUEST.data_0 + word] = s.stored[g, a, word]
        return
    if f.with_data:
        _apply(s, g, channel, token, inputs)
    if access == UPDATE or request[REQUEST.origin] == COMMUNICATION:
        inputs[I.issue_acks_valid] = 1
        inputs[I.issue_acks_access] = access
        inputs[I.issue_acks_atom] = request[REQUEST.atom]
        inputs[I.issue_acks_owner] = request[REQUEST.owner]
        inputs[I.issue_acks_dispatch_index] = request[REQUEST.dispatch_index]
        inputs[I.issue_acks_wavefront] = request[REQUEST.wavefront]
    release(s, channel, token)


@inlined
def _apply(s, g, channel, token, inputs):
    """Apply a write, or send an update to the reduce unit."""
    request = s.request[channel.token_base + token]
    a = request[REQUEST.atom] - s.fixed[0].contents_base
    if not 0 <= a < s.stored.shape[1]:
        return
    if request[REQUEST.access] != UPDATE:
        for word in range(DATA_WORDS):
            s.stored[g, a, word] = request[REQUEST.data_0 + word]
        s.epoch[g, a] = 0
        return
    inputs[I.nmc_in_valid] = 1
    inputs[I.nmc_in_owner] = request[REQUEST.owner]
    for word in range(DATA_WORDS):
        inputs[I.nmc_in_stored_0 + word] = s.stored[g, a, word]
        inputs[I.nmc_in_operand_0 + word] = request[REQUEST.data_0 + word]
    inputs[I.nmc_in_stored_epoch] = s.epoch[g, a]
    inputs[I.nmc_in_op] = request[REQUEST.op]
    inputs[I.nmc_in_dtype] = request[REQUEST.dtype]
    channel.in_unit[(channel.in_unit_head + channel.in_unit_count) & (_IN_UNIT - 1)] = a
    channel.in_unit_count += 1


@inlined
def reduce_results(s, g, channel, outputs):
    """Store the result of the reduce unit in this cycle."""
    if outputs[O.nmc_out_valid]:
        a = channel.in_unit[channel.in_unit_head & (_IN_UNIT - 1)]
        channel.in_unit_head += 1
        channel.in_unit_count -= 1
        for word in range(DATA_WORDS):
            s.stored[g, a, word] = outputs[O.nmc_out_value_0 + word]
        s.epoch[g, a] = outputs[O.nmc_out_epoch]


@inlined
def value_of(s, g, w, atom, inputs):
    """Put the result of a workgroup for an atom on the store port."""
    at = s.values_from[w] + atom - s.fixed[0].contents_base
    for word in range(DATA_WORDS):
        inputs[I.stores_data_0 + word] = s.partial[g, at, word]
