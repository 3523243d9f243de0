"""Ports of the GPUs to the network: packets that leave and arrive, and admissions.

The channels of a GPU share the rate of its links. A packet carries one atom; the rate counts
payload.
"""

from typing import Any

import numpy as np

from sysmodel.engine.codes import PACKET_END
from sysmodel.engine.ports import LINK_IN, LINK_OUT, PACKET, I, O
from sysmodel.gpu.address_spaces import COLLECTIVE_RANK, CONTEXT_COLLECTIVE
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.compiled import inlined
from sysmodel.lib.cycles import NEVER

from .queues import enter, has_place, offer_link, take
from .records import HEADER_WORDS, NO_HOP, PACKET_WORDS, TAG
from .windows import PLACE_ATOM_BITS, WINDOW_ATOM_BITS

__all__ = [
    "ADMISSION_TABLES",
    "CHANNEL_FIELDS",
    "CONTEXT_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "admitted",
    "can_send",
    "deliver",
    "first_channel",
    "next_admission",
    "next_channel",
    "next_packet",
    "offer_credit",
    "pass_credit",
    "send",
    "send_admission",
]

FIXED_FIELDS = [
    ("gpus", np.int64),
    # Places of a channel's packets, and of a context's admissions, less one: each a power of two.
    ("packet_mask", np.int64),
    ("admission_mask", np.int64),
    ("queued", np.int64),  # packets in all queues
    ("sum_places", np.int64),  # places of a channel in the table of sums, a power of two
    ("most_sums", np.int64),  # most sums of a channel that waited in switches at once
    ("port_planes", np.int64),  # channels apart by this number share a port's link
    ("port_in_turn", np.int64),  # 1: the channels of such a link take turns
    ("link_stall", np.int64),  # share of cycles in which a link is stalled, of 65536
    ("mirror", np.int64),  # EVEN or UNEVEN if one GPU stands for all, otherwise 0
    ("copy_from", np.int64),  # chunk copied in the current step
    ("copy_to", np.int64),  # chunk that the upstream GPU copies at the same time
    ("copy_offset", np.int64),  # atoms from a copy's source to its destination
    ("tile_atom_bits", np.int64),  # of the atoms that an END packet announces
    ("announces", np.int64),  # 1: END packets announce atoms that the model knows
    ("by_destination", np.int64),  # 1: T3's packets go to the GPU that they name, not by address
    ("packet_atoms", np.int64),  # most atoms of a packet, a power of two
    ("packet_gap", np.int64),  # most cycles between two atoms of a packet
    ("to_owners", np.int64),  # 1: a fused GEMM stores to owners, and the own chunk is ``copy_to``
]

GPU_FIELDS = [
    ("first_link", np.int64),  # first of the GPU's links in ``own_link``
    ("links", np.int64),
    ("link_rate_bytes", np.float64),  # of all its links, as in the records of links
    ("link_bytes", np.int64, (MOST_ACTIVITIES,)),  # sent bytes by activity
    ("packets", np.int64, (MOST_ACTIVITIES,)),  # sent packets with payload by activity
    ("end_packets", np.int64, (MOST_ACTIVITIES,)),  # sent END packets by activity
    ("first_send", np.int64),  # cycle of the first packet, or -1
    ("copied", np.int64),  # sent atoms of the current step's copy
]

# Admission of a GPU's context: the last value, and changes in flight upstream.
CONTEXT_FIELDS = [
    ("admits", np.int64),
    ("admission_latency", np.int64),
    ("admission_base", np.int64),  # first place of the context in the tables
    ("admission_head", np.int64),
    ("admission_count", np.int64),
    ("admitted", np.int64),  # value known to the upstream GPU
]

CHANNEL_FIELDS = [
    ("packet_base", np.int64),  # first place of the channel in the tables
    ("packet_head", np.int64),
    ("packet_count", np.int64),
    ("outstanding", np.int64),  # packets that the channel has sent and no receiver has taken
    ("plane", np.int64),
    ("stall_random", np.uint64),
    ("sent_header", np.uint64),  # of the last packet, as one word
    ("sent_atom", np.int64),  # its last atom
    ("sent_at", np.int64),  # cycle in which this atom was sent
]

ADMISSION_TABLES: dict[str, Any] = {
    "receiver": np.zeros((0, 0), np.int64),
    "admission": np.zeros(0, np.int64),
    "admission_time": np.zeros(0, np.int64),
}
"""Tables of the state: the GPUs to which each GPU's hardware sends, by the number of the peer, and
the circular buffers of all contexts' admissions."""

_TURN_FACTOR, _TURN_SHIFT = 2654435761, 16  # Knuth's multiplicative hash
_PLACE_MASK = np.uint64((1 << PLACE_ATOM_BITS) - 1)
# Places of a header's fields in a word.
_KIND_BITS, _CONTEXT_BITS, _GENERATION_BITS, _DESTINATION_BITS, _WAVEFRONT_BITS = (
    np.uint64(bits) for bits in (2, 8, 8, 8, 8)
)
_UPSTREAM_OF_MIRROR = 1  # rank of the GPU that sends to GPU 0


@inlined
def offer_credit(s, gpu: np.record) -> float:
    """Add the rates of a GPU's links for one cycle to their credit; return the bytes that stay
    unused."""
    unused = 0.0
    for i in range(gpu.first_link, gpu.first_link + gpu.links):
        unused += offer_link(s.link[s.own_link[i]])
    return unused


@inlined
def _pass_link(link, cycles):
    unused = 0.0
    for passed in range(cycles):
        before = link.credit_bytes
        unused += offer_link(link)
        if link.credit_bytes == before:
            unused += link.rate_bytes * (cycles - passed - 1)
            break
    return unused


@inlined
def pass_credit(s, gpu: np.record, cycles: int) -> float:
    """Add the rates of a GPU's links for cycles without a packet; return the bytes that stay
    unused."""
    unused = 0.0
    for i in range(gpu.first_link, gpu.first_link + gpu.links):
        unused += _pass_link(s.link[s.own_link[i]], cycles)
    return unused


@inlined
def send_admission(s, context: np.record, now: int, limit: int) -> None:
    """Send a change of a context's admission upstream."""
    if limit == context.admits:
        return
    f = s.fixed[0]
    context.admits = limit
    i = (context.admission_head + context.admission_count) & f.admission_mask
    s.admission[context.admission_base + i] = limit
    s.admission_time[context.admission_base + i] = now + context.admission_latency
    context.admission_count += 1


@inlined
def next_admission(s, context: np.record) -> int:
    """Cycle in which the next change of an admission arrives upstream."""
    place = context.admission_base + context.admission_head
    at: int = s.admission_time[place] if context.admission_count > 0 else NEVER
    return at


@inlined
def admitted(s, context: np.record, now: int) -> int:
    """Admission of a context that the upstream GPU knows in a cycle."""
    while next_admission(s, context) <= now:
        context.admitted = s.admission[context.admission_base + context.admission_head]
        context.admission_head = (context.admission_head + 1) & s.fixed[0].admission_mask
        context.admission_count -= 1
    limit: int = context.admitted
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
def first_channel(s, g: int, plane: int, now: int) -> int:
    """Channel of a plane that goes first.

    Channels of a link take turns, and the one after the last sender goes first. If they send to
    several receivers, whose buffers hold some of them up, the first one changes irregularly.
    """
    f = s.fixed[0]
    if f.port_in_turn:
        in_turn: int = s.link[s.port_link[plane, g]].turn
        return in_turn
    turn = (now * _TURN_FACTOR >> _TURN_SHIFT) % f.channels
    first: int = turn - turn % f.port_planes + plane
    return first if first < f.channels else plane


@inlined
def next_channel(f: np.record, plane: int, c: int) -> int:
    """Channel of a plane after channel ``c``."""
    following: int = c + f.port_planes
    return following if following < f.channels else plane


@inlined
def _first_hop(s, g, channel, outputs):
    """Hop of the packet that the hardware offers, and its destination."""
    window = np.int64(outputs[O.link_out_atom] >> np.uint64(WINDOW_ATOM_BITS))
    f = s.fixed[0]
    if f.by_destination and outputs[O.link_out_context] != CONTEXT_COLLECTIVE:
        window = (np.int64(outputs[O.link_out_destination]) - g) % f.gpus
    if window >= s.first_hop.shape[2]:
        return NO_HOP, 0
    return s.first_hop[channel.plane, g, window], s.window_destination[g, window]


@inlined
def can_send(s, g: int, c: int, channel: np.record, outputs: np.ndarray) -> bool:
    """Return True if the network takes the packet of a channel in this cycle."""
    if s.fixed[0].link_stall > 0 and _stalled(s.fixed[0], channel):
        return False
    e = s.port_link[channel.plane, g]
    if e >= 0 and s.link[e].credit_bytes < ATOM_BYTES:
        return False
    hop, destination = _first_hop(s, g, channel, outputs)
    atom = np.int64(outputs[O.link_out_atom] & _PLACE_MASK)
    free: bool = has_place(s, hop, destination, atom, c)
    return free


@inlined
def _continues(f, channel, now, outputs):
    """Return True if an atom goes behind the one before it in the same packet: it belongs to the
    same tile, comes in time, and follows in the same block of the longest packet's size."""
    header = outputs[O.link_out_slot] << _WAVEFRONT_BITS | outputs[O.link_out_wavefront]
    header = header << _DESTINATION_BITS | outputs[O.link_out_destination]
    header = header << _GENERATION_BITS | outputs[O.link_out_generation]
    header = header << _CONTEXT_BITS | outputs[O.link_out_context]
    header = header << _KIND_BITS | outputs[O.link_out_kind]
    atom = np.int64(outputs[O.link_out_atom])
    same = header == channel.sent_header and atom == channel.sent_atom + 1
    in_time = now - channel.sent_at <= f.packet_gap
    channel.sent_header, channel.sent_atom, channel.sent_at = header, atom, now
    is_end = outputs[O.link_out_kind] == PACKET_END
    return same and in_time and not is_end and atom & (f.packet_atoms - 1) != 0


@inlined
def send(s, g: int, c: int, now: int, outputs: np.ndarray) -> None:
    """Take the atom, or the END packet, that the hardware offers."""
    f, gpu = s.fixed[0], s.gpu[g]
    sender = g * f.channels + c
    channel = s.channel[sender]
    if gpu.first_send < 0:
        gpu.first_send = now
    continues = _continues(f, channel, now, outputs)
    is_end = outputs[O.link_out_kind] == PACKET_END
    if is_end:
        gpu.end_packets[gpu.communication_activity] += 1
    else:
        gpu.link_bytes[gpu.communication_activity] += ATOM_BYTES
        gpu.packets[gpu.communication_activity] += not continues
    channel.outstanding += 1
    hop, destination = _first_hop(s, g, channel, outputs)
    at, e = now, s.port_link[channel.plane, g]
    if e >= 0:
        link = s.link[e]
        take(link, continues, is_end)
        link.turn = next_channel(f, c % f.port_planes, c)
        at += link.latency
    enter(s, hop, outputs[LINK_OUT:], destination, c, sender, at, continues)


@inlined
def next_packet(s, channel: np.record) -> int:
    """Cycle in which the next packet arrives."""
    place = channel.packet_base + channel.packet_head
    at: int = s.packet_time[place] if channel.packet_count > 0 else NEVER
    return at


@inlined
def _source(s, packet: np.ndarray) -> int:
    """Rank of the sender, as the receiver sees it.

    A context accepts packets of its peers only, but compute units store to the memory of any GPU:
    in the address space of their kernels, all GPUs have the same rank. One GPU that stands for all
    is its own upstream GPU.
    """
    if packet[PACKET.context] == CONTEXT_COLLECTIVE:
        return COLLECTIVE_RANK
    if s.fixed[0].mirror:
        return _UPSTREAM_OF_MIRROR
    rank: int = np.int64(packet[PACKET.source])
    return rank


@inlined
def deliver(s, channel: np.record, now: int, inputs: np.ndarray, ready: bool) -> bool:
    """Offer an arrived packet to the hardware; return True if it is taken."""
    if next_packet(s, channel) > now:
        inputs[I.link_in_valid] = 0
        return False
    f = s.fixed[0]
    inputs[I.link_in_valid] = 1
    place = s.packet_place[channel.packet_base + channel.packet_head]
    packet = s.wire_packet[place]
    for word in range(HEADER_WORDS):
        inputs[LINK_IN + word] = packet[word]
    inputs[I.link_in_source] = np.uint64(_source(s, packet))
    if f.with_data:
        for word in range(HEADER_WORDS, PACKET_WORDS):
            inputs[LINK_IN + word] = packet[word]
    if ready:
        channel.packet_head = (channel.packet_head + 1) & f.packet_mask
        channel.packet_count -= 1
        s.hop[s.packet_tag[place, TAG.hop]].count -= 1
        s.channel[s.packet_tag[place, TAG.sender]].outstanding -= 1
    return ready
