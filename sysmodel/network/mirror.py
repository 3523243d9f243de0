"""Mirror of one GPU that stands for all: each sent packet becomes an incoming one.

The upstream GPU does the same work one chunk later: the same dispatch index belongs to the
workgroup one chunk further, and the packet carries the corresponding atom of that workgroup's tile.
Chunks are *even* if the tiles of all have equally many atoms in each simulated channel: each
packet then arrives in the channel in which it left. Otherwise the atoms of a wavefront's tile, or
of a copied chunk, are spread in proportion: while this GPU sends the *n* atoms of one, the *m*
atoms of the other arrive, first atom with first atom, in any channel.

Updates and tracked stores belong to the tile of their slot; a plain store belongs to a copied
chunk.

A fused GEMM stores each tile at a place in the memory of its owner. The atoms that leave for the
owner of a chunk arrive, by the same rule, as atoms of this GPU's own chunk: at the same place, from
the GPU that is as far upstream as the owner is downstream.
"""

import numpy as np

from sysmodel.engine.codes import PACKET_STORE
from sysmodel.engine.ports import PACKET
from sysmodel.gpu.address_spaces import context_of_space
from sysmodel.lib.compiled import compiled, inlined

__all__ = [
    "EVEN",
    "PLACE_CHUNK",
    "PLACE_OFFSET",
    "PLACE_ROTATION",
    "UNEVEN",
    "arriving",
    "mirror_tables",
    "mirrored",
    "spread",
]

EVEN, UNEVEN = 1, 2

PLACE_OFFSET, PLACE_CHUNK, PLACE_ROTATION = range(3)
"""Columns of ``mirror_place``: offset in atoms from the output, chunk whose tiles are stored there,
and rotation of its data among a channel's atoms."""


def mirror_tables(
    start: np.ndarray,
    wave: np.ndarray,
    per_wave: np.ndarray,
    chunk_start: np.ndarray,
    chunk_atom: np.ndarray,
) -> dict[str, np.ndarray]:
    """Compute fields of the cycle loop's state: atoms of each wavefront's tile and of each chunk.

    The entries of a wavefront's atoms in the output's table are ``wave_entry`` from
    ``wave_entries[w, v]`` on; a chunk's atoms in all simulated channels are ``copied_atom`` and
    ``copied_channel`` from ``copied_start[chunk]`` on, ascending.
    """
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    entries = np.zeros(per_wave.size + 1, np.int64)
    entries[1:] = np.cumsum(per_wave.ravel())
    channels, chunks = len(chunk_start), chunk_start.shape[1] - 1
    copied_start, atoms, where = np.zeros(chunks + 1, np.int64), [], []
    for chunk in range(chunks):
        parts = [
            chunk_atom[c, chunk_start[c, chunk] : chunk_start[c, chunk + 1]]
            for c in range(channels)
        ]
        together = np.concatenate(parts)
        order = np.argsort(together, kind="stable")
        atoms.append(together[order])
        where.append(np.repeat(np.arange(channels), [len(part) for part in parts])[order])
        copied_start[chunk + 1] = copied_start[chunk] + len(together)
    return {
        "wave_entries": entries[:-1].reshape(per_wave.shape),
        "wave_entry": np.lexsort((np.arange(len(wave)), wave, owner)),
        "wave_sent": np.zeros(per_wave.shape, np.int64),
        "copied_start": copied_start,
        "copied_atom": np.concatenate(atoms),
        "copied_channel": np.concatenate(where),
    }


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
def _nth_of_channel(s, start, c, atom):
    """Count the atoms from ``start`` up to ``atom`` (excluded) in channel ``c``."""
    n = 0
    while s.output_atom[start] != atom:
        if s.output_channel[start] == c:
            n += 1
        start += 1
    return n


@inlined
def _sent_and_arriving(s, packet):
    """Table rows of the workgroups whose tiles a packet has, and that it has as it arrives: its
    slot belongs to another tile at the upstream GPU."""
    slot = np.int64(packet[PACKET.slot])
    number = s.context[0, context_of_space(np.int64(packet[PACKET.context]))].kernel
    return s.sender_row[number, slot], s.slot_row[0, number, slot]


@inlined
def _place_of(s, atom):
    """Find the place in an owner's memory to which an atom is stored."""
    place = len(s.mirror_place) - 1
    while place > 0 and s.mirror_place[place, PLACE_OFFSET] > atom - s.fixed[0].contents_base:
        place -= 1
    return place


@inlined
def _at_place(s, c, index, place):
    """Address of one of a channel's atoms of the output at a place."""
    index = (index + s.mirror_place[place, PLACE_ROTATION]) % s.chunk_start[c, -1]
    return s.chunk_atom[c, index] + s.mirror_place[place, PLACE_OFFSET]


@inlined
def mirrored(s, c, packet):
    """Turn a sent packet of even chunks into the incoming one of the same channel."""
    f = s.fixed[0]
    atom = np.int64(packet[PACKET.atom])
    if f.to_owners:
        place = _place_of(s, atom)
        chunk = s.mirror_place[place, PLACE_CHUNK]
        base, end = s.chunk_start[c, chunk], s.chunk_start[c, chunk + 1]
        atom -= s.mirror_place[place, PLACE_OFFSET]
        i = _find(s.chunk_atom[c], base, end, atom) - base
        packet[PACKET.atom] = _at_place(s, c, s.chunk_start[c, f.copy_to] + i, place)
        return
    if packet[PACKET.kind] == PACKET_STORE:
        base = s.chunk_start[c, f.copy_from]
        end = s.chunk_start[c, f.copy_from + 1]
        i = _find(s.chunk_atom[c], base, end, atom - f.copy_offset) - base
        other_atom = s.chunk_atom[c, s.chunk_start[c, f.copy_to] + i] + f.copy_offset
        packet[PACKET.atom] = other_atom
        return
    workgroup, other = _sent_and_arriving(s, packet)
    start, end = s.output_start[workgroup], s.output_start[workgroup + 1]
    if f.channels == 1:
        n = _find(s.output_atom, start, end, atom) - start
        packet[PACKET.atom] = s.output_atom[s.output_start[other] + n]
        return
    n = _nth_of_channel(s, start, c, atom)
    i = s.output_start[other]
    while s.output_channel[i] != c or n > 0:
        if s.output_channel[i] == c:
            n -= 1
        i += 1
    packet[PACKET.atom] = s.output_atom[i]


@compiled
def spread(s, gpu, packet):
    """Find the packets of uneven chunks that arrive while a packet is sent.

    Returns the number of the first packet, an argument of :func:`arriving`, and their count.
    """
    f = s.fixed[0]
    if f.to_owners:
        atom = np.int64(packet[PACKET.atom])
        place = _place_of(s, atom)
        chunk, atom = s.mirror_place[place, PLACE_CHUNK], atom - s.mirror_place[place, PLACE_OFFSET]
        start, end = s.copied_start[chunk], s.copied_start[chunk + 1]
        sent, ours = _find(s.copied_atom, start, end, atom) - start, end - start
        theirs = s.copied_start[f.copy_to + 1] - s.copied_start[f.copy_to]
        base = s.copied_start[f.copy_to]
    elif packet[PACKET.kind] == PACKET_STORE:
        ours = s.copied_start[f.copy_from + 1] - s.copied_start[f.copy_from]
        theirs = s.copied_start[f.copy_to + 1] - s.copied_start[f.copy_to]
        sent, base = gpu.copied, s.copied_start[f.copy_to]
        gpu.copied += 1
    else:
        (workgroup, other), wave = _sent_and_arriving(s, packet), np.int64(packet[PACKET.wavefront])
        ours, theirs = s.per_wave[workgroup, wave], s.per_wave[other, wave]
        sent, base = s.wave_sent[workgroup, wave], s.wave_entries[other, wave]
        # A tile may leave again, once it is complete: from its first atom on.
        s.wave_sent[workgroup, wave] = (sent + 1) % ours
    first = sent * theirs // ours
    return base + first, (sent + 1) * theirs // ours - first


@inlined
def arriving(s, packet, number):
    """Turn the sent packet into an arriving one; return its channel."""
    f = s.fixed[0]
    if f.to_owners:
        place = _place_of(s, np.int64(packet[PACKET.atom]))
        c = s.copied_channel[number]
        start, end = s.chunk_start[c, f.copy_to], s.chunk_start[c, f.copy_to + 1]
        index = _find(s.chunk_atom[c], start, end, s.copied_atom[number])
        packet[PACKET.atom] = _at_place(s, c, index, place)
        return c
    if packet[PACKET.kind] == PACKET_STORE:
        packet[PACKET.atom] = s.copied_atom[number] + f.copy_offset
        return s.copied_channel[number]
    entry = s.wave_entry[number]
    packet[PACKET.atom] = s.output_atom[entry]
    return s.output_channel[entry]
