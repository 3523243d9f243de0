"""The ring's links: bandwidth, latency and bounded buffers, and the mirror that closes the ring on
one GPU.

Every GPU sends to the downstream one only. Its simulated channels share the link's rate in the
proportion in which they share the memory. A packet carries one atom; the rate counts payload.
"""

import numpy as np

from sysmodel.engine.ports import LINK_IN, LINK_OUT, PACKET, I
from sysmodel.gpu.kernel import ATOM_BYTES
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER
from sysmodel.lib.phases import AG, PHASES, RS
from sysmodel.lib.ring import downstream

from .mirror import EVEN, UNEVEN, arriving, mirrored, of_other, spread

__all__ = [
    "ADMISSIONS",
    "CHANNEL_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
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
    "tell_admission",
]

# Entries of the wire and the receiver's buffer: a power of two, more than rate x latency ever
# needs.
PACKETS = 4096
# Changes of an admission that are on their way upstream: one a cycle at most.
ADMISSIONS = 16384

# Without data only the words before them are moved.
_HEADER_WORDS, _PACKET_WORDS = PACKET.data_0, len(PACKET)

FIXED_FIELDS = [
    ("gpus", np.int64),
    ("link_rate_bytes", np.float64),  # per cycle, for all simulated channels of a GPU
    ("link_latency", np.int64),
    ("link_packets", np.int64),  # on the wire and waiting at the receiver, per channel
    ("link_stall", np.int64),  # share of cycles in which a link takes nothing, of 65536
    ("mirror", np.int64),  # EVEN or UNEVEN if the one GPU stands for all, or 0
    ("mirror_shift", np.int64),  # workgroups from a packet of ours to the upstream GPU's
    ("copy_from", np.int64),  # chunk that is copied in the current step
    ("copy_to", np.int64),  # chunk that the upstream GPU copies meanwhile
    ("copy_offset", np.int64),  # of the copies' destination
]

GPU_FIELDS = [
    ("credit_bytes", np.float64),
    ("link_bytes", np.int64, (PHASES,)),  # sent
    ("first_send", np.int64),  # cycle, or -1
    ("copied", np.int64),  # atoms of the current step's copy that were sent
    # What the GPU admits: its last change, and those that are on their way upstream.
    ("admits", np.int64),
    ("admission", np.int64, (ADMISSIONS,)),
    ("admission_time", np.int64, (ADMISSIONS,)),  # of arrival
    ("admission_head", np.int64),
    ("admission_count", np.int64),
    ("admitted", np.int64),  # what upstream knows
]

CHANNEL_FIELDS = [
    ("packet_time", np.int64, (PACKETS,)),  # of arrival
    ("packet", np.uint64, (PACKETS, len(PACKET))),
    ("packet_head", np.int64),
    ("packet_count", np.int64),
    ("stall_random", np.uint64),
]


def set_up_link(
    state,
    *,
    rate_bytes_per_cycle: float,
    latency_cycles: int,
    buffer_packets: int,
    mirror: int,
    mirror_shift: int,
    stall_share: float,
    seed: int,
    contexts: int = 1,
) -> None:
    """Connect the GPUs of ``state`` in a ring; of each there is a row for each of its contexts.

    ``buffer_packets`` is the receiver's buffer beyond what the wire itself holds, per channel;
    ``mirror`` is 0, or ``EVEN`` or ``UNEVEN`` if one GPU stands for all.

    Raises
    ------
    ValueError
        If the wire holds more than the model has room for.
    """
    fixed = state.fixed
    channels = len(state.channel) // len(state.gpu)
    in_flight = int(rate_bytes_per_cycle / ATOM_BYTES / channels * latency_cycles) + 1
    if in_flight + buffer_packets > PACKETS or latency_cycles >= ADMISSIONS:
        raise ValueError(
            f"link: {in_flight} atoms on the wire of a channel, {latency_cycles} cycles long, are "
            f"more than the {PACKETS - buffer_packets} atoms and {ADMISSIONS - 1} cycles of the "
            "model"
        )
    fixed["gpus"] = len(state.gpu) // contexts
    fixed["link_rate_bytes"] = rate_bytes_per_cycle
    fixed["link_latency"] = latency_cycles
    fixed["link_packets"] = in_flight + buffer_packets
    fixed["link_stall"] = round(stall_share * 65536)
    fixed["mirror"] = mirror
    fixed["mirror_shift"] = mirror_shift
    state.gpu["first_send"] = -1
    random = np.random.default_rng(seed)
    state.channel["stall_random"] = random.integers(1, 1 << 62, len(state.channel))


@inlined
def offer_credit(f: np.record, gpu: np.record) -> float:
    """The link's rate for one cycle. Returns the bytes of it that too few packets leave unused."""
    credit = gpu.credit_bytes + f.link_rate_bytes
    most = f.link_rate_bytes + ATOM_BYTES * f.channels
    gpu.credit_bytes = credit if credit < most else most
    unused: float = credit - gpu.credit_bytes
    return unused


@inlined
def pass_credit(f: np.record, gpu: np.record, cycles: int) -> float:
    """The link's rate for so many cycles in which nothing is sent; returns the unused bytes."""
    unused = 0.0
    for passed in range(cycles):
        before = gpu.credit_bytes
        unused += offer_credit(f, gpu)
        if gpu.credit_bytes == before:
            unused += f.link_rate_bytes * (cycles - passed - 1)
            break
    return unused


@inlined
def tell_admission(f: np.record, gpu: np.record, now: int, limit: int) -> None:
    """What the GPU admits in a cycle, on its way upstream."""
    if limit == gpu.admits:
        return
    gpu.admits = limit
    i = (gpu.admission_head + gpu.admission_count) & (ADMISSIONS - 1)
    gpu.admission[i] = limit
    gpu.admission_time[i] = now + f.link_latency
    gpu.admission_count += 1


@inlined
def next_admission(gpu: np.record) -> int:
    """Cycle in which upstream hears of the next change."""
    at: int = gpu.admission_time[gpu.admission_head] if gpu.admission_count > 0 else NEVER
    return at


@inlined
def admitted(gpu: np.record, now: int) -> int:
    """What upstream knows in a cycle of what the GPU admits."""
    while next_admission(gpu) <= now:
        gpu.admitted = gpu.admission[gpu.admission_head]
        gpu.admission_head = (gpu.admission_head + 1) & (ADMISSIONS - 1)
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
    """Channel queue at which what GPU ``g`` sends arrives."""
    f = s.fixed[0]
    if not f.mirror:
        g = downstream(g, f.gpus)
    receiver: np.record = s.channel[g * f.channels + c]
    return receiver


@inlined
def can_send(s, gpu: np.record, channel: np.record, receiver: np.record) -> bool:
    """Whether the link takes a packet of this channel in this cycle."""
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
    gpu.link_bytes[AG if gpu.phase == AG else RS] += ATOM_BYTES
    if f.mirror == UNEVEN:
        _send_spread(s, gpu, now, outputs)
        return
    packet = receiver.packet[_on_wire(f, receiver, now)]
    for word in range(_HEADER_WORDS):
        packet[word] = outputs[LINK_OUT + word]
    if f.with_data:
        for word in range(_HEADER_WORDS, _PACKET_WORDS):
            packet[word] = outputs[LINK_OUT + word]
    if f.mirror == EVEN:
        mirrored(s, c, packet)


@inlined
def _on_wire(f, receiver, now):
    """Index of a new packet."""
    i = (receiver.packet_head + receiver.packet_count) & (PACKETS - 1)
    receiver.packet_count += 1
    receiver.packet_time[i] = now + f.link_latency
    return i


@compiled
def _send_spread(s, gpu, now, outputs):
    f, ours = s.fixed[0], s.packet
    for word in range(_HEADER_WORDS):
        ours[word] = outputs[LINK_OUT + word]
    first, count = spread(s, gpu, ours)
    of_other(s, ours)
    for number in range(first, first + count):
        c = arriving(s, ours, number)
        i = _on_wire(f, s.channel[c], now)
        for word in range(_HEADER_WORDS):
            s.channel[c].packet[i, word] = ours[word]


@inlined
def next_packet(channel: np.record) -> int:
    """Cycle in which the next packet arrives."""
    at: int = channel.packet_time[channel.packet_head] if channel.packet_count > 0 else NEVER
    return at


@inlined
def deliver(f: np.record, channel: np.record, now: int, inputs: np.ndarray, ready: bool) -> bool:
    """Offer the packet that has arrived, if any, to the hardware's input; whether it is taken."""
    i = channel.packet_head
    if channel.packet_count == 0 or channel.packet_time[i] > now:
        inputs[I.link_in_valid] = 0
        return False
    inputs[I.link_in_valid] = 1
    packet = channel.packet[i]
    for word in range(_HEADER_WORDS):
        inputs[LINK_IN + word] = packet[word]
    if f.with_data:
        for word in range(_HEADER_WORDS, _PACKET_WORDS):
            inputs[LINK_IN + word] = packet[word]
    if ready:
        channel.packet_head = (i + 1) & (PACKETS - 1)
        channel.packet_count -= 1
    return ready
