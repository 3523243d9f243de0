"""The memory side of a channel: accesses between the T3 hardware, the L2's misses and the DRAM."""

from collections import namedtuple

import numpy as np

from .compiled import compiled
from .ports import CHANNEL_OUTPUTS, I, O

__all__ = [
    "ACCESS_READ",
    "ACCESS_UPDATE",
    "ACCESS_WRITE",
    "AG",
    "COLLECTIVE_TAG",
    "GEMM",
    "RS",
    "Contents",
    "Flight",
    "accept",
    "new_contents",
    "new_flight",
    "reduce_results",
    "release",
    "value_of",
]

ACCESS_READ, ACCESS_WRITE, ACCESS_UPDATE = 0, 1, 2

# What the traffic of a phase counts as.
GEMM, RS, AG = 0, 1, 2

# Marks a compute read that belongs to a collective kernel, which bypasses the L2.
COLLECTIVE_TAG = 1 << 15

Flight = namedtuple(
    "Flight",
    [
        # An access from its entry into the DRAM queue to the end of its data, by token.
        "access",  # [q, token]
        "origin",
        "atom",
        "tag",
        "place",
        "wavefront",
        "op",
        "dtype",
        "data",  # [q, token, 4]
        "free",  # [q, token]
        "free_count",
        # Reads whose data are on their way, in order.
        "back_time",  # [q, entry]
        "back_token",
        "back_head",
        "back_count",
        "read_latency",
        "phase",  # [g]
        "traffic",  # [g, 6]: gemm_read, gemm_write, rs_read, rs_write, ag_read, ag_write; accesses
        "channels",
    ],
)

# What the DRAM holds in the output buffer; without data, arrays of no atom.
Contents = namedtuple(
    "Contents",
    [
        "payload",
        "base",
        "stored",  # [g, atom, 4]
        "epoch",  # [g, atom]
        "partial",  # [g, atom, 4]: the GEMM's result, which its stores carry
        "in_unit",  # [q, entry]: atoms in the reduce unit, oldest at in_unit_head
        "in_unit_head",
        "in_unit_count",
    ],
)

TOKENS = 1024


def new_flight(gpus: int, channels: int, read_latency_cycles: int) -> Flight:
    """Nothing under way. At most one read a cycle is, so the latency bounds the tokens in use."""
    tokens = TOKENS
    while tokens < read_latency_cycles + 130:
        tokens *= 2
    queues = gpus * channels

    def i64(*shape):
        return np.zeros(shape, np.int64)

    free = i64(queues, tokens)
    free[:] = np.arange(tokens)
    return Flight(
        access=i64(queues, tokens),
        origin=i64(queues, tokens),
        atom=i64(queues, tokens),
        tag=i64(queues, tokens),
        place=i64(queues, tokens),
        wavefront=i64(queues, tokens),
        op=i64(queues, tokens),
        dtype=i64(queues, tokens),
        data=np.zeros((queues, tokens, 4), np.uint64),
        free=free,
        free_count=np.full(queues, tokens, np.int64),
        back_time=i64(queues, tokens),
        back_token=i64(queues, tokens),
        back_head=i64(queues),
        back_count=i64(queues),
        read_latency=read_latency_cycles,
        phase=i64(gpus),
        traffic=i64(gpus, 6),
        channels=channels,
    )


def new_contents(
    gpus: int, channels: int, base: int = 0, partial: np.ndarray | None = None, seed: int = 0
) -> Contents:
    """Contents of the output buffer: what was there before is random, and of another epoch.

    ``partial`` has the GEMM's results as words, of shape (gpus, atoms, 4).
    """
    atoms = 0 if partial is None else partial.shape[1]
    random = np.random.default_rng(seed)
    queues = gpus * channels
    return Contents(
        payload=int(partial is not None),
        base=base,
        stored=random.integers(0, 1 << 63, (gpus, atoms, 4)).astype(np.uint64),
        epoch=np.zeros((gpus, atoms), np.uint64),
        partial=np.zeros((gpus, 0, 4), np.uint64) if partial is None else partial,
        in_unit=np.zeros((queues, 16), np.int64),
        in_unit_head=np.zeros(queues, np.int64),
        in_unit_count=np.zeros(queues, np.int64),
    )


@compiled
def accept(f, g, c, outputs):
    """Note the access that the hardware offers; returns its token."""
    q = g * f.channels + c
    base = c * CHANNEL_OUTPUTS
    f.free_count[q] -= 1
    token = f.free[q, f.free_count[q]]
    access = np.int64(outputs[base + O.dram_access])
    origin = np.int64(outputs[base + O.dram_origin])
    f.access[q, token] = access
    f.origin[q, token] = origin
    f.atom[q, token] = outputs[base + O.dram_atom]
    f.tag[q, token] = outputs[base + O.dram_tag]
    f.place[q, token] = outputs[base + O.dram_place]
    f.wavefront[q, token] = outputs[base + O.dram_wavefront]
    f.op[q, token] = outputs[base + O.dram_op]
    f.dtype[q, token] = outputs[base + O.dram_dtype]
    for word in range(4):
        f.data[q, token, word] = outputs[base + O.dram_data_0 + word]
    phase = f.phase[g]
    if phase == GEMM and origin == 1:
        phase = RS
    f.traffic[g, 2 * phase + (1 if access != ACCESS_READ else 0)] += 1
    return token


@compiled
def release(f, q, token):
    f.free[q, f.free_count[q]] = token
    f.free_count[q] += 1


@compiled
def issue(f, m, g, c, token, now, inputs, base):
    """The DRAM issues an access: data move, and the tracker is told of updates and arrivals."""
    q = g * f.channels + c
    access = f.access[q, token]
    if access == ACCESS_READ:
        i = (f.back_head[q] + f.back_count[q]) & (f.back_time.shape[1] - 1)
        f.back_time[q, i] = now + f.read_latency
        f.back_token[q, i] = token
        f.back_count[q] += 1
        if m.payload:
            a = f.atom[q, token] - m.base
            if 0 <= a < m.stored.shape[1]:
                for word in range(4):
                    f.data[q, token, word] = m.stored[g, a, word]
        return
    if m.payload:
        _apply(f, m, g, q, token, inputs, base)
    if access == ACCESS_UPDATE or f.origin[q, token] == 1:
        inputs[base + I.notices_valid] = 1
        inputs[base + I.notices_access] = access
        inputs[base + I.notices_atom] = f.atom[q, token]
        inputs[base + I.notices_place] = f.place[q, token]
        inputs[base + I.notices_wavefront] = f.wavefront[q, token]
    release(f, q, token)


@compiled
def _apply(f, m, g, q, token, inputs, base):
    """A write takes effect; an update goes through the reduce unit."""
    a = f.atom[q, token] - m.base
    if not 0 <= a < m.stored.shape[1]:
        return
    if f.access[q, token] == ACCESS_WRITE:
        for word in range(4):
            m.stored[g, a, word] = f.data[q, token, word]
        m.epoch[g, a] = 0
        return
    inputs[base + I.nmc_in_valid] = 1
    for word in range(4):
        inputs[base + I.nmc_in_stored_0 + word] = m.stored[g, a, word]
        inputs[base + I.nmc_in_operand_0 + word] = f.data[q, token, word]
    inputs[base + I.nmc_in_stored_epoch] = m.epoch[g, a]
    inputs[base + I.nmc_in_op] = f.op[q, token]
    inputs[base + I.nmc_in_dtype] = f.dtype[q, token]
    i = (m.in_unit_head[q] + m.in_unit_count[q]) & 15
    m.in_unit[q, i] = a
    m.in_unit_count[q] += 1


@compiled
def reduce_results(m, g, q, outputs, base):
    """Store what the reduce unit gives in this cycle."""
    if outputs[base + O.nmc_out_valid]:
        a = m.in_unit[q, m.in_unit_head[q] & 15]
        m.in_unit_head[q] += 1
        m.in_unit_count[q] -= 1
        for word in range(4):
            m.stored[g, a, word] = outputs[base + O.nmc_out_value_0 + word]
        m.epoch[g, a] = outputs[base + O.nmc_out_epoch]


@compiled
def value_of(m, g, atom, inputs, base):
    """Put the GEMM's result for an atom on the store port."""
    for word in range(4):
        inputs[base + I.stores_data_0 + word] = m.partial[g, atom - m.base, word]
