"""Links of the ring: bandwidth, latency, bounded buffers, and the mirror that closes the ring.

Every GPU sends only to its downstream neighbour. The simulated channels of a GPU share the link's
rate in proportion to their share of the memory. A packet carries one atom; the rate counts payload.
"""

import sys
from typing import Any, TypeVar

import numpy as np

from sysmodel.engine.ports import LINK_IN, LINK_OUT, PACKET, I
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER
from sysmodel.lib.phases import AG, PHASES, RS
from sysmodel.lib.ring import downstream

from .mirror import EVEN, UNEVEN, arriving, mirrored, of_other, spread

__all__ = [
    "CHANNEL_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "TABLES",
    "admitted",
    "can_send",
    "deliver",
    "next_admission",
    "next_packet",
    "offer_credit",
    "pass_credit",
    "receiver_of",
    "send",
    "set_up_link",
    "send_admission",
]

# Words of a packet moved without data, and all words.
_HEADER_WORDS, _PACKET_WORDS = PACKET.data_0, len(PACKET)

FIXED_FIELDS = [
    ("gpus", np.int64),
    ("link_rate_bytes", np.float64),  # bytes per cycle of all simulated channels of a GPU
    ("link_latency", np.int64),
    ("link_packets", np.int64),  # capacity of wire and receiver per channel
    # The places of a channel's packets, and of a row's admissions, less one: each a power of two.
    ("packet_mask", np.int64),
    ("admission_mask", np.int64),
    ("link_stall", np.int64),  # share of cycles in which a link is stalled, of 65536
    ("mirror", np.int64),  # EVEN or UNEVEN if one GPU stands for all, otherwise 0
    ("mirror_shift", np.int64),  # difference between our packet's workgroup and the upstream GPU's
    ("copy_from", np.int64),  # chunk copied in the current step
    ("copy_to", np.int64),  # chunk that the upstream GPU copies at the same time
    ("copy_offset", np.int64),  # atoms from a copy's source to its destination
]

GPU_FIELDS = [
    ("credit_bytes", np.float64),
    ("link_bytes", np.int64, (PHASES,)),  # sent bytes by phase
    ("link_turn", np.int64),  # channel after the last one that sent a packet
    ("first_send", np.int64),  # cycle of the first packet, or -1
    ("copied", np.int64),  # sent atoms of the current step's copy
    # Admission of the GPU: the last value, and changes in flight upstream.
    ("admits", np.int64),
    ("admission_base", np.int64),  # first place of the row in the tables
    ("admission_head", np.int64),
    ("admission_count", np.int64),
    ("admitted", np.int64),  # value known to the upstream GPU
]

CHANNEL_FIELDS = [
    ("packet_base", np.int64),  # first place of the channel in the tables
    ("packet_head", np.int64),
    ("packet_count", np.int64),
    ("stall_random", np.uint64),
]

TABLES: dict[str, Any] = {
    "packet_time": np.zeros(0, np.int64),
    "wire_packet": np.zeros((0, len(PACKET)), np.uint64),
    "admission": np.zeros(0, np.int64),
    "admission_time": np.zeros(0, np.int64),
}
"""Tables of the state, whose lengths :func:`set_up_link` chooses: the ring buffers of all channels'
packets on the wire with their cycles of arrival, and those of all rows' admissions."""


_State = TypeVar("_State", bound=Any)


def set_up_link(
    state: _State,
    *,
    rate_bytes_per_cycle: float,
    latency_cycles: int,
    buffer_packets: int,
    mirror: int,
    mirror_shift: int,
    stall_share: float,
    seed: int,
    contexts: int = 1,
    most_packets: int = sys.maxsize,
    most_admissions: int = sys.maxsize,
) -> _State:
    """Connect the GPUs of ``state`` in a ring; each GPU has a row for each of its contexts.

    ``buffer_packets`` is the receiver's buffer per channel, beyond the packets on the wire;
    ``mirror`` is ``EVEN`` or ``UNEVEN`` if one GPU stands for all, otherwise 0. A channel never has
    more than ``most_packets`` packets on the wire, and a row never more than ``most_admissions``
    changes of its admission in flight.

    Returns the state with tables that are long enough for rate and latency.
    """
    fixed, rows, channels = state.fixed, len(state.gpu), len(state.channel)
    share = rate_bytes_per_cycle / ATOM_BYTES / (channels // rows)
    link_packets = int(share * latency_cycles) + 1 + buffer_packets
    # If the tiles of an uneven ring differ, several packets may arrive for a packet sent.
    at_once = int(state.per_wave.max(initial=1))
    packets = _places(min(link_packets, most_packets) + at_once)
    admissions = _places(min(latency_cycles + 1, most_admissions))
    fixed["gpus"] = rows // contexts
    fixed["link_rate_bytes"] = rate_bytes_per_cycle
    fixed["link_latency"] = latency_cycles
    fixed["link_packets"] = link_packets
    fixed["link_stall"] = round(stall_share * 65536)
    fixed["mirror"] = mirror
    fixed["mirror_shift"] = mirror_shift
    fixed["packet_mask"], fixed["admission_mask"] = packets - 1, admissions - 1
    state.gpu["first_send"] = -1
    state.gpu["admission_base"] = np.arange(rows) * admissions
    state.channel["packet_base"] = np.arange(channels) * packets
    random = np.random.default_rng(seed)
    state.channel["stall_random"] = random.integers(1, 1 << 62, channels)
    replaced: _State = state._replace(
        packet_time=np.zeros(channels * packets, np.int64),
        wire_packet=np.zeros((channels * packets, len(PACKET)), np.uint64),
        admission=np.zeros(rows * admissions, np.int64),
        admission_time=np.zeros(rows * admissions, np.int64),
    )
    return replaced


def _places(least: int) -> int:
    """Smallest power of two that is not less than a number of places."""
    return 1 << (least - 1).bit_length()


@inlined
def offer_credit(f: np.record, gpu: np.record) -> float:
    """Add the link's rate for one cycle to the credit; return the bytes that stay unused."""
    credit = gpu.credit_bytes + f.link_rate_bytes
    most = f.link_rate_bytes + ATOM_BYTES * f.channels
    gpu.credit_bytes = credit if credit < most else most
    unused: float = credit - gpu.credit_bytes
    return unused


@inlined
def pass_credit(f: np.record, gpu: np.record, cycles: int) -> float:
    """Add the link's rate for cycles without a packet; return the bytes that stay unused."""
    unused = 0.0
    for passed in range(cycles):
        before = gpu.credit_bytes
        unused += offer_credit(f, gpu)
        if gpu.credit_bytes == before:
            unused += f.link_rate_bytes * (cycles - passed - 1)
            break
    return unused


@inlined
def send_admission(s, gpu: np.record, now: int, limit: int) -> None:
    """Send a change of the GPU's admission upstream."""
    if limit == gpu.admits:
        return
    f = s.fixed[0]
    gpu.admits = limit
    i = (gpu.admission_head + gpu.admission_count) & f.admission_mask
    s.admission[gpu.admission_base + i] = limit
    s.admission_time[gpu.admission_base + i] = now + f.link_latency
    gpu.admission_count += 1


@inlined
def next_admission(s, gpu: np.record) -> int:
    """Cycle in which the next change of an admission arrives upstream."""
    place = gpu.admission_base + gpu.admission_head
    at: int = s.admission_time[place] if gpu.admission_count > 0 else NEVER
    return at


@inlined
def admitted(s, gpu: np.record, now: int) -> int:
    """Admission of the GPU that the upstream GPU knows in a cycle."""
    while next_admission(s, gpu) <= now:
        gpu.admitted = s.admission[gpu.admission_base + gpu.admission_head]
        gpu.admission_head = (gpu.admission_head + 1) & s.fixed[0].admission_mask
        gpu.admission_count -= 1
    limit: int = gpu.admitted
    return limit


@inlined
def _stalled(f, channel):
    x = channel.stall_random
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    channel.stall_random = x
    return np.int64(x & np.uint64(0xFFFF)) < f.link_stall


@inlined
def receiver_of(s, g: int, c: int) -> np.record:
    """Channel that receives the packets of GPU ``g``."""
    f = s.fixed[0]
    if not f.mirror:
        g = downstream(g, f.gpus)
    receiver: np.record = s.channel[g * f.channels + c]
    return receiver


@inlined
def can_send(s, gpu: np.record, channel: np.record, receiver: np.record) -> bool:
    """Return True if the link takes a packet of this channel in this cycle."""
    f = s.fixed[0]
    if f.link_stall > 0 and _stalled(f, channel):
        return False
    free: bool = gpu.credit_bytes >= ATOM_BYTES and receiver.packet_count < f.link_packets
    if free and f.mirror == UNEVEN:
        for c in range(f.channels):
            free = free and s.channel[c].packet_count < f.link_packets
    return free


@inlined
def send(s, gpu: np.record, receiver: np.record, c: int, now: int, outputs: np.ndarray) -> None:
    """Put the packet that the hardware offers on the wire."""
    f = s.fixed[0]
    if gpu.first_send < 0:
        gpu.first_send = now
    gpu.credit_bytes -= ATOM_BYTES
    gpu.link_turn = c + 1 if c + 1 < f.channels else 0
    gpu.link_bytes[AG if gpu.phase == AG else RS] += ATOM_BYTES
    if f.mirror == UNEVEN:
        _send_spread(s, gpu, now, outputs)
        return
    packet = s.wire_packet[_on_wire(s, receiver, now)]
    for word in range(_HEADER_WORDS):
        packet[word] = outputs[LINK_OUT + word]
    if f.with_data:
        for word in range(_HEADER_WORDS, _PACKET_WORDS):
            packet[word] = outputs[LINK_OUT + word]
    if f.mirror == EVEN:
        mirrored(s, c, packet)


@inlined
def _on_wire(s, receiver, now):
    """Put a new packet on the wire; return its place."""
    f = s.fixed[0]
    i = (receiver.packet_head + receiver.packet_count) & f.packet_mask
    receiver.packet_count += 1
    s.packet_time[receiver.packet_base + i] = now + f.link_latency
    return receiver.packet_base + i


@compiled
def _send_spread(s, gpu, now, outputs):
    ours = s.packet
    for word in range(_HEADER_WORDS):
        ours[word] = outputs[LINK_OUT + word]
    first, count = spread(s, gpu, ours)
    of_other(s, ours)
    for number in range(first, first + count):
        c = arriving(s, ours, number)
        i = _on_wire(s, s.channel[c], now)
        for word in range(_HEADER_WORDS):
            s.wire_packet[i, word] = ours[word]


@inlined
def next_packet(s, channel: np.record) -> int:
    """Cycle in which the next packet arrives."""
    place = channel.packet_base + channel.packet_head
    at: int = s.packet_time[place] if channel.packet_count > 0 else NEVER
    return at


@inlined
def deliver(s, channel: np.record, now: int, inputs: np.ndarray, ready: bool) -> bool:
    """Offer an arrived packet to the hardware; return True if it is taken."""
    if next_packet(s, channel) > now:
        inputs[I.link_in_valid] = 0
        return False
    f = s.fixed[0]
    inputs[I.link_in_valid] = 1
    packet = s.wire_packet[channel.packet_base + channel.packet_head]
    for word in range(_HEADER_WORDS):
        inputs[LINK_IN + word] = packet[word]
    if f.with_data:
        for word in range(_HEADER_WORDS, _PACKET_WORDS):
            inputs[LINK_IN + word] = packet[word]
    if ready:
        channel.packet_head = (channel.packet_head + 1) & f.packet_mask
        channel.packet_count -= 1
    return ready
