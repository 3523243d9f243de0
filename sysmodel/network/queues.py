"""Links, the queues in front of them, and the places at the ends of hops.

A packet in flight has its place in the queue, or at the receiver, to which it travels. Hops share a
queue, but each has places of its own there, so that no sender keeps others out. The packets of a
queue, or of a receiver's channel, are in the order of arrival.

Packets of all GPUs for one place are added in the queues of switches: the last one enters the queue
as their sum, when all have arrived. The others end there, and need no place.
"""

import numpy as np

from sysmodel.engine.ports import PACKET
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER

from .marker import announce, is_marker
from .mirror import EVEN, UNEVEN, arriving, mirrored, spread
from .records import HEADER_WORDS, MOST_SUMS, NO_HOP, PACKET_WORDS, TAG
from .windows import PLACE_ATOM_BITS

__all__ = [
    "enter",
    "has_place",
    "offer_link",
    "queues_rest_until",
    "serve_queues",
    "take",
]

# Functions that run for each packet are inlined, because a call passes all arrays of the state.
_PLACE_MASK = np.uint64((1 << PLACE_ATOM_BITS) - 1)
_HASH_FACTOR, _HASH_SHIFT = 2654435761, 16  # Knuth's multiplicative hash


@inlined
def offer_link(link: np.record) -> float:
    """Add a link's rate for one cycle to its credit; return the bytes that stay unused."""
    credit = link.credit_bytes + link.rate_bytes
    most = link.most_bytes
    link.credit_bytes = credit if credit < most else most
    unused: float = credit - link.credit_bytes
    return unused


@inlined
def take(link: np.record, continues: bool, is_end: bool) -> None:
    """Use a link for an atom, with a header unless it continues a packet, or for an END packet."""
    size = 0.0 if is_end else link.atom_bytes
    if not continues:
        size += link.header_bytes
    link.credit_bytes -= size
    link.sent_bytes += size


@inlined
def _hop_has_space(s, hop, c):
    f = s.fixed[0]
    record = s.hop[hop]
    if record.by_channel == 0:
        return record.count < record.most
    if f.mirror == UNEVEN and record.queue < 0:
        for other in range(hop, hop + f.channels):
            if s.hop[other].count >= s.hop[other].most:
                return False
        return True
    return s.hop[hop + c].count < s.hop[hop + c].most


@inlined
def _has_space(s, hop, c):
    """Return True if a packet of channel ``c`` has a place at the end of a hop, or of all copies'
    hops."""
    if hop >= 0:
        return _hop_has_space(s, hop, c)
    if hop == NO_HOP:
        return False
    for i in range(s.copy_start[-2 - hop], s.copy_start[-1 - hop]):
        if not _hop_has_space(s, s.copy_hop[i], c):
            return False
    return True


@inlined
def _sum_home(s, atom):
    """Place where the search for an atom's sum begins."""
    places = s.fixed[0].sum_places
    return (atom * _HASH_FACTOR >> _HASH_SHIFT) & (places - 1)


@inlined
def _sum_of(s, queue, atom, destination, c):
    """Find the place of a sum, or the free place where it is to begin."""
    places = s.fixed[0].sum_places
    i = _sum_home(s, atom)
    while True:
        one = s.sum_entry[c * places + i]
        same = one.atom == atom and one.queue == queue and one.destination == destination
        if one.count == 0 or same:
            return c * places + i
        i = (i + 1) & (places - 1)


@inlined
def _free_sum(s, freed, c):
    """Free the place of a sum; sums behind it move up if the search for them would end there."""
    places = s.fixed[0].sum_places
    free = i = freed - c * places
    while True:
        i = (i + 1) & (places - 1)
        one = s.sum_entry[c * places + i]
        if one.count == 0:
            break
        distance = (i - _sum_home(s, one.atom)) & (places - 1)
        if distance >= ((i - free) & (places - 1)):
            s.sum_entry[c * places + free] = s.sum_entry[c * places + i]
            free = i
    s.sum_entry[c * places + free].count = 0
    s.sums[c] -= 1


@compiled
def _added(s, queue, atom, destination, c, sender, at):
    """Add a packet that arrives at a switch's queue to its sum; return the cycle in which the sum
    is complete, or -1 while packets are missing."""
    f = s.fixed[0]
    needed = s.sum_packets[s.channel[sender].plane, queue, destination - 2 * f.gpus]
    if needed == 1:
        return at
    i = _sum_of(s, queue, atom, destination, c)
    one = s.sum_entry[i]
    if one.count == 0:
        one.atom, one.queue, one.destination, one.time = atom, queue, destination, at
        s.sums[c] += 1
        f.most_sums = max(f.most_sums, s.sums[c])
    one.count += 1
    one.time = max(one.time, at)
    if one.count < needed:
        return np.int64(-1)
    at = one.time
    _free_sum(s, i, c)
    return at


@inlined
def has_place(s, hop, destination, atom, c):
    """Return True if a packet of channel ``c`` has a place at the end of a hop, or of all copies'
    hops; and if it begins a sum in a switch, in the table of sums."""
    if not _has_space(s, hop, c):
        return False
    if destination < 2 * s.fixed[0].gpus:
        return True
    queue = s.hop[hop].queue
    if queue < 0 or s.sums[c] < MOST_SUMS:
        return True
    return s.sum_entry[_sum_of(s, queue, atom, destination, c)].count > 0


@inlined
def _place(s, base, mask, head, count, at):
    """Add a packet that arrives in a cycle, behind those that arrive no later; return its place."""
    i = base + ((head + count) & mask)
    place = s.packet_place[i]
    while count > 0:
        before = base + ((head + count - 1) & mask)
        if s.packet_time[before] <= at:
            break
        s.packet_time[i] = s.packet_time[before]
        s.packet_place[i] = s.packet_place[before]
        i = before
        count -= 1
    s.packet_time[i] = at
    s.packet_place[i] = place
    return place


@inlined
def _fill(s, place, words, destination, c, account, sender, continues):
    packet, tag = s.wire_packet[place], s.packet_tag[place]
    for word in range(HEADER_WORDS):
        packet[word] = words[word]
    packet[PACKET.atom] = words[PACKET.atom] & _PLACE_MASK
    if s.fixed[0].with_data:
        for word in range(HEADER_WORDS, PACKET_WORDS):
            packet[word] = words[word]
    tag[TAG.destination] = destination
    tag[TAG.channel] = c
    tag[TAG.hop] = account
    tag[TAG.sender] = sender
    tag[TAG.continues] = continues
    s.hop[account].count += 1


@inlined
def _at_receiver(s, q, at):
    """Add a packet that arrives at a channel; return its place."""
    channel = s.channel[q]
    place = _place(
        s,
        channel.packet_base,
        s.fixed[0].packet_mask,
        channel.packet_head,
        channel.packet_count,
        at,
    )
    channel.packet_count += 1
    return place


@compiled
def _enter_spread(s, hop, words, c, sender, at, continues):
    """Add the packets of uneven chunks that arrive for a packet."""
    ours = s.packet
    for word in range(HEADER_WORDS):
        ours[word] = words[word]
    s.channel[sender].outstanding -= 1
    first, count = spread(s, s.gpu[0], ours)
    for number in range(first, first + count):
        other = arriving(s, ours, number)
        place = _at_receiver(s, other, at)
        _fill(s, place, ours, 0, other, hop + other, other, continues)
        s.channel[other].outstanding += 1


@inlined
def _enter_one(s, hop, words, destination, c, sender, at, continues):
    f, record = s.fixed[0], s.hop[hop]
    account = hop + c if record.by_channel else hop
    if record.queue >= 0 and destination >= 2 * f.gpus:
        atom = np.int64(words[PACKET.atom] & _PLACE_MASK)
        at = _added(s, record.queue, atom, destination, c, sender, at)
        if at < 0:
            s.channel[sender].outstanding -= 1
            return
    if record.queue >= 0:
        queue = s.queue[record.queue]
        place = _place(s, queue.base, queue.mask, queue.head, queue.count, at)
        queue.count += 1
        s.link[queue.link].waiting += 1
        f.queued += 1
        _fill(s, place, words, destination, c, account, sender, continues)
    elif is_marker(words) and f.announces:
        place = _at_receiver(s, record.gpu * f.channels + c, at)
        _fill(s, place, words, destination, c, account, sender, continues)
        announce(s, record.gpu, s.wire_packet[place])
    elif f.mirror == UNEVEN:
        _enter_spread(s, hop, words, c, sender, at, continues)
    else:
        place = _at_receiver(s, record.gpu * f.channels + c, at)
        _fill(s, place, words, destination, c, account, sender, continues)
        if f.mirror == EVEN:
            mirrored(s, c, s.wire_packet[place])


@inlined
def enter(s, hop, words, destination, c, sender, at, continues) -> None:
    """Let a packet take a hop, or its copies their hops; it arrives in a cycle.

    ``words`` are the packet's, ``sender`` is the number of the sender's record of channel ``c``. An
    atom that ``continues`` a packet has no header of its own.
    """
    first, end = 0, 1
    if hop < 0:
        first, end = s.copy_start[-2 - hop], s.copy_start[-1 - hop]
        s.channel[sender].outstanding += end - first - 1
    for i in range(first, end):
        one = hop if hop >= 0 else s.copy_hop[i]
        _enter_one(s, one, words, destination, c, sender, at, continues)


@inlined
def _head_time(s, queue):
    """Cycle in which the first packet of a queue arrives."""
    return s.packet_time[queue.base + queue.head] if queue.count > 0 else NEVER


@inlined
def _serve_queue(s, link, number, now):
    """Send the head of a queue if it has arrived and has space at the end; return True if sent."""
    queue = s.queue[number]
    if _head_time(s, queue) > now:
        return False
    place = s.packet_place[queue.base + queue.head]
    destination, c = s.packet_tag[place, TAG.destination], s.packet_tag[place, TAG.channel]
    sender = s.packet_tag[place, TAG.sender]
    hop = s.next_hop[s.channel[sender].plane, number, destination]
    if not has_place(s, hop, destination, np.int64(s.wire_packet[place, PACKET.atom]), c):
        return False
    queue.head = (queue.head + 1) & queue.mask
    queue.count -= 1
    link.waiting -= 1
    s.fixed[0].queued -= 1
    s.hop[s.packet_tag[place, TAG.hop]].count -= 1
    continues = s.packet_tag[place, TAG.continues] != 0
    take(link, continues, is_marker(s.wire_packet[place]))
    enter(s, hop, s.wire_packet[place], destination, c, sender, now + link.latency, continues)
    return True


@inlined
def _serve_link(s, link, now):
    """Send packets of a link's queues, which take turns."""
    first = NEVER
    for number in range(link.first_queue, link.first_queue + link.queues):
        first = min(first, _head_time(s, s.queue[number]))
    if first > now:
        return
    if not link.at_port:
        credit = link.credit_bytes + link.rate_bytes * (now - link.credited)
        link.credit_bytes = min(credit, link.most_bytes)
        link.credited = now
    blocked = 0
    while link.credit_bytes >= ATOM_BYTES and blocked < link.queues:
        number = link.first_queue + link.turn
        link.turn = link.turn + 1 if link.turn + 1 < link.queues else 0
        blocked = 0 if _serve_queue(s, link, number, now) else blocked + 1


@compiled
def _serve_all(s, now):
    for e in range(len(s.link)):
        if s.link[e].waiting > 0:
            _serve_link(s, s.link[e], now)


@inlined
def serve_queues(s, now: int) -> None:
    """Send the packets of all queues in a cycle."""
    if s.fixed[0].queued > 0:
        _serve_all(s, now)


@compiled
def _first_head(s):
    """Cycle in which the first packet of all queues arrives."""
    at = NEVER
    for q in range(len(s.queue)):
        at = min(at, _head_time(s, s.queue[q]))
    return at


@inlined
def queues_rest_until(s, now: int) -> int:
    """First cycle from ``now`` on in which a queue may send; where a packet waits, every cycle."""
    at: int = max(now, _first_head(s)) if s.fixed[0].queued > 0 else NEVER
    return at
