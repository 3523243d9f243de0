"""The memory side of a channel: accesses between the T3 hardware, the L2's misses and the DRAM."""

import numpy as np

from sysmodel.engine.ports import I, O
from sysmodel.lib.compiled import compiled, inlined

__all__ = [
    "ACCESS_READ",
    "ACCESS_UPDATE",
    "ACCESS_WRITE",
    "AG",
    "CHANNEL_FIELDS",
    "COLLECTIVE_TAG",
    "FIXED_FIELDS",
    "GEMM",
    "GPU_FIELDS",
    "MISSES",
    "RS",
    "TOKENS",
    "accept",
    "issue",
    "reduce_results",
    "release",
    "set_up_memory",
    "value_of",
]

ACCESS_READ, ACCESS_WRITE, ACCESS_UPDATE = 0, 1, 2

# What the traffic of a phase counts as.
GEMM, RS, AG = 0, 1, 2

# Marks a compute read that belongs to a collective kernel, which bypasses the L2.
COLLECTIVE_TAG = 1 << 15

TOKENS = 1024
MISSES = 4096
_IN_UNIT = 16

FIXED_FIELDS = [
    ("with_data", np.int64),  # data mode
    ("contents_base", np.int64),  # first atom of the output buffer, in data mode
    ("read_latency", np.int64),  # from a read's issue to its data
]

GPU_FIELDS = [
    ("phase", np.int64),  # that the collective's accesses and the link's count to
    ("kernel_phase", np.int64),  # that the kernel's accesses count to
    ("kept", np.int64),  # stores of the collective that stay here; counted among the kernel's
    # Accesses: gemm_read, gemm_write, rs_read, rs_write, ag_read, ag_write.
    ("traffic", np.int64, (6,)),
    ("updates", np.int64, (3,)),  # of these writes, by phase
    ("dma_reads", np.int64, (3,)),  # of these reads
]

CHANNEL_FIELDS = [
    # An access from its entry into the DRAM queue to the end of its data, by token.
    ("access", np.int64, (TOKENS,)),
    ("origin", np.int64, (TOKENS,)),
    ("atom", np.int64, (TOKENS,)),
    ("tag", np.int64, (TOKENS,)),
    ("tile_dispatch_index", np.int64, (TOKENS,)),
    ("tile_wave", np.int64, (TOKENS,)),
    ("op", np.int64, (TOKENS,)),
    ("dtype", np.int64, (TOKENS,)),
    ("data", np.uint64, (TOKENS, 4)),
    ("free_token", np.int64, (TOKENS,)),
    ("free_tokens", np.int64),
    # Reads whose data are on their way, in order.
    ("back_time", np.int64, (TOKENS,)),
    ("back_token", np.int64, (TOKENS,)),
    ("back_head", np.int64),
    ("back_count", np.int64),
    # The L2's reads that wait for the memory; bounded by its MSHRs.
    ("miss_atom", np.int64, (MISSES,)),  # in the channel
    ("miss_head", np.int64),
    ("misses", np.int64),
    # Whose access the compute ports offer or took last, kernel or collective.
    ("read_offer", np.int64),
    ("store_offer", np.int64),
    # Atoms in the reduce unit.
    ("in_unit", np.int64, (_IN_UNIT,)),
    ("in_unit_head", np.int64),
    ("in_unit_count", np.int64),
]


def set_up_memory(state, *, read_latency_cycles: int, queue_depth: int) -> None:
    """Nothing is under way.

    Raises
    ------
    ValueError
        If more reads may be under way than the model has room for; at most one a cycle begins.
    """
    if read_latency_cycles + queue_depth + 2 > TOKENS:
        raise ValueError(
            f"dram: a read latency of {read_latency_cycles} cycles and a queue of {queue_depth} "
            f"exceed the {TOKENS} accesses that the model has room for"
        )
    state.fixed["read_latency"] = read_latency_cycles
    state.channel["free_token"] = np.arange(TOKENS)
    state.channel["free_tokens"] = TOKENS


@compiled
def accept(gpu, channel, outputs):
    """Note the access that the hardware offers; returns its token."""
    channel.free_tokens -= 1
    token = channel.free_token[channel.free_tokens]
    access = np.int64(outputs[O.dram_access])
    origin = np.int64(outputs[O.dram_origin])
    channel.access[token] = access
    channel.origin[token] = origin
    channel.atom[token] = outputs[O.dram_atom]
    channel.tag[token] = outputs[O.dram_tag]
    channel.tile_dispatch_index[token] = outputs[O.dram_dispatch_index]
    channel.tile_wave[token] = outputs[O.dram_wavefront]
    channel.op[token] = outputs[O.dram_op]
    channel.dtype[token] = outputs[O.dram_dtype]
    for word in range(4):
        channel.data[token, word] = outputs[O.dram_data_0 + word]
    if origin == 1:
        phase = gpu.phase if gpu.phase != GEMM else np.int64(RS)
        if access == ACCESS_READ:
            gpu.dma_reads[phase] += 1
    elif access == ACCESS_READ and channel.tag[token] & COLLECTIVE_TAG:
        phase = gpu.phase
    else:
        phase = gpu.kernel_phase
    gpu.traffic[2 * phase + (1 if access != ACCESS_READ else 0)] += 1
    if access == ACCESS_UPDATE:
        gpu.updates[phase] += 1
    return token


@inlined
def release(channel, token):
    channel.free_token[channel.free_tokens] = token
    channel.free_tokens += 1


@inlined
def issue(s, g, channel, token, now, inputs):
    """The DRAM issues an access: data move, and the tracker is told of updates and arrivals."""
    f = s.fixed[0]
    access = channel.access[token]
    if access == ACCESS_READ:
        i = (channel.back_head + channel.back_count) & (TOKENS - 1)
        channel.back_time[i] = now + f.read_latency
        channel.back_token[i] = token
        channel.back_count += 1
        if f.with_data:
            a = channel.atom[token] - f.contents_base
            if 0 <= a < s.stored.shape[1]:
                for word in range(4):
                    channel.data[token, word] = s.stored[g, a, word]
        return
    if f.with_data:
        _apply(s, g, channel, token, inputs)
    if access == ACCESS_UPDATE or channel.origin[token] == 1:
        inputs[I.issue_acks_valid] = 1
        inputs[I.issue_acks_access] = access
        inputs[I.issue_acks_atom] = channel.atom[token]
        inputs[I.issue_acks_dispatch_index] = channel.tile_dispatch_index[token]
        inputs[I.issue_acks_wavefront] = channel.tile_wave[token]
    release(channel, token)


@inlined
def _apply(s, g, channel, token, inputs):
    """A write takes effect; an update goes through the reduce unit."""
    a = channel.atom[token] - s.fixed[0].contents_base
    if not 0 <= a < s.stored.shape[1]:
        return
    if channel.access[token] == ACCESS_WRITE:
        for word in range(4):
            s.stored[g, a, word] = channel.data[token, word]
        s.epoch[g, a] = 0
        return
    inputs[I.nmc_in_valid] = 1
    for word in range(4):
        inputs[I.nmc_in_stored_0 + word] = s.stored[g, a, word]
        inputs[I.nmc_in_operand_0 + word] = channel.data[token, word]
    inputs[I.nmc_in_stored_epoch] = s.epoch[g, a]
    inputs[I.nmc_in_op] = channel.op[token]
    inputs[I.nmc_in_dtype] = channel.dtype[token]
    channel.in_unit[(channel.in_unit_head + channel.in_unit_count) & (_IN_UNIT - 1)] = a
    channel.in_unit_count += 1


@inlined
def reduce_results(s, g, channel, outputs):
    """Store what the reduce unit gives in this cycle."""
    if outputs[O.nmc_out_valid]:
        a = channel.in_unit[channel.in_unit_head & (_IN_UNIT - 1)]
        channel.in_unit_head += 1
        channel.in_unit_count -= 1
        for word in range(4):
            s.stored[g, a, word] = outputs[O.nmc_out_value_0 + word]
        s.epoch[g, a] = outputs[O.nmc_out_epoch]


@inlined
def value_of(s, g, atom, inputs):
    """Put the GEMM's result for an atom on the store port."""
    for word in range(4):
        inputs[I.stores_data_0 + word] = s.partial[g, atom - s.fixed[0].contents_base, word]
