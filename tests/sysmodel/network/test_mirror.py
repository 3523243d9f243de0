"""Mirror of an uneven ring: atoms arrive one by one while our own leave."""

import numpy as np
import pytest

from rtl.interface.encodings import PacketKind
from sysmodel.engine.ports import CHANNEL_OUTPUTS, PACKET, O
from sysmodel.lib.compiled import cached_njit
from sysmodel.machine.sampling import symmetry
from sysmodel.network.link import send
from sysmodel.network.mirror import EVEN, UNEVEN
from tests.support.small_kernel import OFFSET_BITS, bare_state, small_kernel
from tests.support.small_network import in_ring, join, sent_slots


@cached_njit()
def _send(s, c, kind, slot, wave, atom, now):
    outputs = s.outputs[0, c * CHANNEL_OUTPUTS : (c + 1) * CHANNEL_OUTPUTS]
    outputs[O.link_out_kind] = kind
    outputs[O.link_out_slot] = slot
    outputs[O.link_out_wavefront] = wave
    outputs[O.link_out_atom] = atom
    send(s, 0, c, now, outputs)


def _ring(channels, channel_bits, mirror=UNEVEN, **shape):
    kernel = small_kernel(**shape)
    state, atoms = bare_state(kernel, channels=channels, channel_bits=channel_bits)
    state = in_ring(join(state, buffer=4096, mirror=mirror), kernel)
    return kernel, state, atoms


def _arrived(state):
    """Packets on the wires: channel, slot, wavefront, atom; in the order of each channel."""
    return [
        (c, int(p[PACKET.slot]), int(p[PACKET.wavefront]), int(p[PACKET.atom]))
        for c, channel in enumerate(state.channel)
        for p in state.wire_packet[channel["packet_base"] :][: channel["packet_count"]]
    ]


# (channels simulated, bits of all, shape): strides that spread chunks unevenly.
RINGS = [
    (2, 2, {"m": 64 * 8 - 16, "n": 40, "gpus": 2}),
    (4, 2, {"m": 64 * 4, "n": 36, "gpus": 4}),
    (4, 3, {"m": 64 * 8 + 48, "n": 48, "gpus": 3}),
]


# Packets with an atom of the tile of their slot: updates, and stores that the receiver tracks.
OF_TILES = [PacketKind.UPDATE.value, PacketKind.PLACE.value]


@pytest.mark.parametrize("kind", OF_TILES)
@pytest.mark.parametrize("channels,bits", [(1, 2), (4, 2)])
def test_even_tiles_arrive_as_the_tiles_of_their_slots(channels, bits, kind):
    """Each atom of the other tile arrives once, in the channel in which an atom left."""
    shape = {"m": 64 * 16, "n": 16, "gpus": 2}
    kernel, state, atoms = _ring(channels, bits, EVEN, **shape)
    assert symmetry(kernel, atoms, channels) == EVEN
    for slot, w, other in sent_slots(kernel):
        assert w != other
        state.channel["packet_count"] = 0
        here = slice(atoms.start[w], atoms.start[w + 1])
        there = slice(atoms.start[other], atoms.start[other + 1])
        for atom, c, v in zip(atoms.atom[here], atoms.channel[here], atoms.wave[here], strict=True):
            _send(state, c, kind, slot, v, atom, 0)
        arrived = sorted((c, at_slot, atom) for c, at_slot, _, atom in _arrived(state))
        wanted = zip(atoms.channel[there].tolist(), atoms.atom[there].tolist(), strict=True)
        assert arrived == sorted((c, slot, atom) for c, atom in wanted) and arrived


@pytest.mark.parametrize("kind", OF_TILES)
@pytest.mark.parametrize("channels,bits,shape", RINGS)
def test_every_atom_of_the_other_tile_arrives_once_and_in_its_channel(channels, bits, shape, kind):
    kernel, state, atoms = _ring(channels, bits, **shape)
    if (atoms.per_wave > 0).any(axis=1).all():
        for slot, w, other in sent_slots(kernel):
            state.channel["packet_count"] = 0
            for v in range(kernel.waves):
                here = slice(atoms.start[w], atoms.start[w + 1])
                mine = atoms.wave[here] == v
                for atom, c in zip(atoms.atom[here][mine], atoms.channel[here][mine], strict=True):
                    _send(state, c, kind, slot, v, atom, 0)
            there = slice(atoms.start[other], atoms.start[other + 1])
            live = [v for v in range(kernel.waves) if atoms.per_wave[w, v]]
            wanted = [
                (int(c), slot, int(v), int(atom))
                for c, v, atom in zip(
                    atoms.channel[there], atoms.wave[there], atoms.atom[there], strict=True
                )
                if v in live
            ]
            assert sorted(_arrived(state)) == sorted(wanted)


def test_arrivals_keep_pace_with_departures():
    """While n atoms leave, m arrive: after k of them k * m / n, rounded down."""
    kernel, state, atoms = _ring(*RINGS[2][:2], **RINGS[2][2])
    slot, w, other, v = next(
        (slot, w, other, v)
        for slot, w, other in sent_slots(kernel)
        for v in range(kernel.waves)
        if atoms.per_wave[w, v] != atoms.per_wave[other, v] > 0 and atoms.per_wave[w, v] > 1
    )
    n, m = atoms.per_wave[w, v], atoms.per_wave[other, v]
    here = slice(atoms.start[w], atoms.start[w + 1])
    mine = atoms.wave[here] == v
    for k, (atom, c) in enumerate(
        zip(atoms.atom[here][mine], atoms.channel[here][mine], strict=True), 1
    ):
        _send(state, c, PacketKind.UPDATE.value, slot, v, atom, 0)
        assert state.channel["packet_count"].sum() == k * m // n


def test_a_copied_chunk_arrives_as_the_other_chunk():
    _, state, _ = _ring(4, 2, m=64 * 4, n=36, gpus=4)
    state.fixed["copy_from"], state.fixed["copy_to"], state.fixed["copy_offset"] = 1, 2, 1 << 20
    arriving = []
    for c in range(4):
        first, end = state.chunk_start[c, 1:3]
        for atom in state.chunk_atom[c, first:end]:
            _send(state, c, PacketKind.STORE.value, 0, 0, atom + (1 << 20), 0)
        first, end = state.chunk_start[c, 2:4]
        arriving += [(c, atom + (1 << 20)) for atom in state.chunk_atom[c, first:end].tolist()]
    assert sorted((c, atom) for c, _, _, atom in _arrived(state)) == sorted(arriving)


@pytest.mark.parametrize("mirror", [EVEN, UNEVEN])
def test_tiles_for_owners_arrive_as_the_own_chunk(mirror):
    """As many contributions as there are other GPUs arrive for each atom of the own chunk, each at
    its place, whose data are rotated."""
    shape = {"m": 64 * 16, "n": 64, "gpus": 4} if mirror == EVEN else RINGS[2][2]
    channels, bits = (4, 2) if mirror == EVEN else RINGS[2][:2]
    kernel = small_kernel(**shape)
    assert (
        symmetry(kernel, kernel.output_atoms(channels, OFFSET_BITS, 1 << bits), channels) == mirror
    )
    state, atoms = bare_state(kernel, channels=channels, channel_bits=bits)
    state = join(state, buffer=4096, mirror=mirror)
    others = range(1, kernel.gpus)
    places = np.array([(owner << 20, owner, 3 * owner) for owner in others])
    state = state._replace(mirror_place=places)
    state.fixed["to_owners"], state.fixed["copy_to"] = 1, 0
    state.fixed["contents_base"] = int(atoms.atom.min())
    owner = np.repeat(kernel.chunks.of_workgroup, np.diff(atoms.start))
    for atom, c, to in zip(atoms.atom, atoms.channel, owner, strict=True):
        if to:
            _send(state, c, PacketKind.STORE.value, 0, 0, atom + (int(to) << 20), 0)
    wanted = []
    for c in range(channels):
        row = state.chunk_atom[c, : state.chunk_start[c, -1]].tolist()
        for index in range(*state.chunk_start[c, :2]):
            wanted += [
                (c, row[(index + rotation) % len(row)] + offset) for offset, _, rotation in places
            ]
    assert sorted((c, atom) for c, _, _, atom in _arrived(state)) == sorted(wanted)


def test_how_one_gpu_stands_for_all():
    even = small_kernel(m=64 * 16, n=16, gpus=2)
    assert symmetry(even, even.output_atoms(4, 1, 2), 4) == EVEN
    uneven = small_kernel(**RINGS[2][2])
    assert symmetry(uneven, uneven.output_atoms(4, 1, 3), 4) == UNEVEN
    with pytest.raises(ValueError, match="do not divide into 4 equal chunks"):
        odd = small_kernel(m=64 * 3, n=8 * 3, gpus=4)
        symmetry(odd, odd.output_atoms(4, 1, 2), 4)


def test_table_of_copies_has_every_atom():
    _, state, atoms = _ring(4, 2, m=64 * 4, n=36, gpus=4)
    assert np.array_equal(np.sort(state.copied_atom), np.sort(atoms.atom))
    assert state.copied_start[-1] == len(atoms.atom)
