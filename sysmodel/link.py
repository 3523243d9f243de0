"""The ring's links: bandwidth, latency and bounded buffers, and the mirror that closes the ring on
one GPU.

Every GPU sends to the downstream one only. Its simulated channels share the link's rate in the
proportion in which they share the memory. A packet carries one atom; the rate counts payload.
"""

from collections import namedtuple

import numpy as np

from .compiled import compiled
from .ports import CHANNEL_OUTPUTS, I, O

__all__ = ["Link", "deliver", "new_link", "offer_credit", "send"]

FIELDS = 12
_TIME, _KIND, _ATOM, _CONTEXT, _WORKGROUP, _WAVEFRONT, _OP, _DTYPE, _DATA = range(9)

Link = namedtuple(
    "Link",
    [
        "packets",  # [g * channels + c, entry, field]: on the wire or waiting at the receiver
        "head",
        "count",
        "rate_bytes",  # float: per cycle, for all simulated channels of a GPU
        "credit_bytes",  # float [g]
        "sent_bytes",  # [g]
        "latency",
        "channels",
        "gpus",
        "stall",  # [g * channels + c]: state of the random back-pressure
        "stall_share",  # 0 to 65535 of 65536
        "limits",  # [g, cycle mod latency + 1]: admissions on their way upstream
        "mirror",  # 1: the one GPU stands for all
        "mirror_shift",  # workgroups from a packet of ours to the upstream GPU's
        "copy_from",  # [1]: chunk that is copied in the current step
        "copy_to",  # [1]: chunk that the upstream GPU copies meanwhile
        "copy_offset",  # [1]: of the copies' destination
        "chunk_start",  # [c, chunk + 1]
        "chunk_atom",  # [c, index]: atoms of each chunk in the channel, ascending
        "sector_start",
        "sector_atom",
        "sector_channel",
        "workgroups",
    ],
)


def new_link(
    gpus: int,
    channels: int,
    *,
    rate_bytes_per_cycle: float,
    latency_cycles: int,
    buffer_packets: int,
    mirror: bool,
    mirror_shift: int,
    sectors,
    chunk_start: np.ndarray,
    chunk_atom: np.ndarray,
    workgroups: int,
    stall_share: float = 0.0,
    seed: int = 0,
) -> Link:
    """Links of ``gpus`` GPUs with ``channels`` simulated channels each, empty.

    ``buffer_packets`` is the receiver's buffer beyond what the wire itself holds, per channel.
    """
    in_flight = int(rate_bytes_per_cycle / 32 * latency_cycles) + 1
    capacity = 1 << int(in_flight + buffer_packets).bit_length()
    queues = gpus * channels
    random = np.random.default_rng(seed)
    return Link(
        packets=np.zeros((queues, capacity, FIELDS), np.uint64),
        head=np.zeros(queues, np.int64),
        count=np.zeros(queues, np.int64),
        rate_bytes=float(rate_bytes_per_cycle),
        credit_bytes=np.zeros(gpus),
        sent_bytes=np.zeros(gpus, np.int64),
        latency=latency_cycles,
        channels=channels,
        gpus=gpus,
        stall=random.integers(1, 1 << 62, queues).astype(np.uint64),
        stall_share=round(stall_share * 65536),
        limits=np.zeros((gpus, latency_cycles + 1), np.int64),
        mirror=int(mirror),
        mirror_shift=mirror_shift,
        copy_from=np.zeros(1, np.int64),
        copy_to=np.zeros(1, np.int64),
        copy_offset=np.zeros(1, np.int64),
        chunk_start=chunk_start,
        chunk_atom=chunk_atom,
        sector_start=sectors.start,
        sector_atom=sectors.atom,
        sector_channel=sectors.channel,
        workgroups=workgroups,
    )


@compiled
def _find(table, low, high, atom):
    while low < high:
        middle = (low + high) >> 1
        if table[middle] < atom:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _nth_of_channel(k, start, end, c, atom):
    """How many of the workgroup's sectors before ``atom`` lie in channel ``c``."""
    n = 0
    i = start
    while k.sector_atom[i] != atom:
        if k.sector_channel[i] == c:
            n += 1
        i += 1
    return n


@compiled
def _mirrored(k, c, is_update, workgroup, atom):
    """What the upstream GPU sends while we send this: same place, one chunk on.

    Returns the workgroup and the atom, in the same channel.
    """
    if not is_update:
        base = k.chunk_start[c, k.copy_from[0]]
        end = k.chunk_start[c, k.copy_from[0] + 1]
        i = _find(k.chunk_atom[c], base, end, atom - k.copy_offset[0]) - base
        return workgroup, k.chunk_atom[c, k.chunk_start[c, k.copy_to[0]] + i] + k.copy_offset[0]
    other = workgroup + k.mirror_shift
    if other >= k.workgroups:
        other -= k.workgroups
    start, end = k.sector_start[workgroup], k.sector_start[workgroup + 1]
    if k.channels == 1:
        n = _find(k.sector_atom, start, end, atom) - start
        return other, k.sector_atom[k.sector_start[other] + n]
    n = _nth_of_channel(k, start, end, c, atom)
    i = k.sector_start[other]
    while True:
        if k.sector_channel[i] == c:
            if n == 0:
                return other, k.sector_atom[i]
            n -= 1
        i += 1


@compiled
def offer_credit(k, g):
    """The link's rate for one cycle."""
    credit = k.credit_bytes[g] + k.rate_bytes
    most = k.rate_bytes + 32.0 * k.channels
    k.credit_bytes[g] = credit if credit < most else most


@compiled
def can_send(k, g, c):
    """Whether the link takes a packet of GPU ``g``, channel ``c`` in this cycle."""
    q = g * k.channels + c
    if k.stall_share > 0:
        x = k.stall[q]
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        k.stall[q] = x
        if np.int64(x & np.uint64(0xFFFF)) < k.stall_share:
            return False
    receiver = q if k.mirror else ((g + k.gpus - 1) % k.gpus) * k.channels + c
    return k.credit_bytes[g] >= 32.0 and k.count[receiver] < k.packets.shape[1]


@compiled
def send(k, g, c, now, outputs):
    """Put the packet that the hardware offers on the wire."""
    base = c * CHANNEL_OUTPUTS
    k.credit_bytes[g] -= 32.0
    k.sent_bytes[g] += 32
    atom = np.int64(outputs[base + O.link_out_atom])
    workgroup = np.int64(outputs[base + O.link_out_workgroup])
    kind = outputs[base + O.link_out_kind]
    q = g * k.channels + c
    if k.mirror:
        workgroup, atom = _mirrored(k, c, kind == 1, workgroup, atom)
    else:
        q = ((g + k.gpus - 1) % k.gpus) * k.channels + c
    size = k.packets.shape[1]
    i = (k.head[q] + k.count[q]) & (size - 1)
    k.count[q] += 1
    packet = k.packets[q, i]
    packet[_TIME] = now + k.latency
    packet[_KIND] = kind
    packet[_ATOM] = atom
    packet[_CONTEXT] = outputs[base + O.link_out_context]
    packet[_WORKGROUP] = workgroup
    packet[_WAVEFRONT] = outputs[base + O.link_out_wavefront]
    packet[_OP] = outputs[base + O.link_out_op]
    packet[_DTYPE] = outputs[base + O.link_out_dtype]
    for word in range(4):
        packet[_DATA + word] = outputs[base + O.link_out_data_0 + word]


@compiled
def deliver(k, q, now, inputs, base, ready):
    """Offer the packet that has arrived on queue ``q``, if any, to the hardware's input."""
    inputs[base + I.link_in_valid] = 0
    if k.count[q] == 0:
        return
    packet = k.packets[q, k.head[q]]
    if np.int64(packet[_TIME]) > now:
        return
    inputs[base + I.link_in_valid] = 1
    inputs[base + I.link_in_kind] = packet[_KIND]
    inputs[base + I.link_in_atom] = packet[_ATOM]
    inputs[base + I.link_in_context] = packet[_CONTEXT]
    inputs[base + I.link_in_workgroup] = packet[_WORKGROUP]
    inputs[base + I.link_in_wavefront] = packet[_WAVEFRONT]
    inputs[base + I.link_in_op] = packet[_OP]
    inputs[base + I.link_in_dtype] = packet[_DTYPE]
    for word in range(4):
        inputs[base + I.link_in_data_0 + word] = packet[_DATA + word]
    if ready:
        k.head[q] = (k.head[q] + 1) & (k.packets.shape[1] - 1)
        k.count[q] -= 1
