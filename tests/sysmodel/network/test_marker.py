"""END packets on the links of a whole, a sampled and a mirrored system."""

import numpy as np
import pytest

from rtl.interface.encodings import PacketKind
from sysmodel.engine.ports import CHANNEL_OUTPUTS, PACKET, O
from sysmodel.gpu.address_spaces import gemm_space
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.compiled import cached_njit
from sysmodel.machine.sampling import symmetry
from sysmodel.network.capacity import PacketSizes
from sysmodel.network.link import send
from sysmodel.network.mirror import EVEN, UNEVEN
from tests.support.small_kernel import OFFSET_BITS, bare_state, small_kernel
from tests.support.small_network import join

ATOM_BITS, HEADER_BYTES, SENT = 10, 12.0, 77
END, UPDATE = PacketKind.END.value, PacketKind.UPDATE.value
# Tiles with edges on both sides, in chunks of different sizes, and tiles without edges.
UNEVEN_SHAPE = {"m": 64 * 8 + 48, "n": 44, "gpus": 3}
EVEN_SHAPE = {"m": 64 * 16, "n": 16, "gpus": 2}


@cached_njit()
def _send(s, g, c, kind, space, slot, wave, atom):
    outputs = s.outputs[g, c * CHANNEL_OUTPUTS : (c + 1) * CHANNEL_OUTPUTS]
    outputs[O.link_out_kind] = kind
    outputs[O.link_out_context] = space
    outputs[O.link_out_slot] = slot
    outputs[O.link_out_wavefront] = wave
    outputs[O.link_out_atom] = atom
    send(s, g, c, 0, outputs)


def arrived(state):
    """Packets on the wires: the receiving channel, kind, slot, wavefront and address."""
    return [
        (number, *(int(packet[word]) for word in (PACKET.kind, PACKET.slot, PACKET.wavefront)),
         int(packet[PACKET.atom]))
        for number, channel in enumerate(state.channel)
        for packet in state.wire_packet[channel["packet_base"] :][: channel["packet_count"]]
    ]  # fmt: skip


def marker_of(kernel, atoms, w, wave):
    """Return the marker of a tile: its simulated atoms, its edges, and one share."""
    edges = int(kernel.walk.outer_edge[w]) | int(kernel.walk.inner_edge[w]) << 1
    return int(atoms.per_wave[w, wave]) | (edges | 1 << 2) << ATOM_BITS


def network(state, **options):
    links = max(2, len(state.gpu))
    sizes = PacketSizes(
        atom_bytes=[ATOM_BYTES - HEADER_BYTES] * links, header_bytes=[HEADER_BYTES] * links, atoms=1
    )
    return join(state, buffer=4096, tile_atom_bits=ATOM_BITS, packets=sizes, **options)


@pytest.mark.parametrize("first", [0, 5])
def test_a_sampled_system_announces_the_simulated_atoms(first):
    """The marker is of the receiver's tile with the slot, which counts from its first one."""
    kernel = small_kernel(**UNEVEN_SHAPE)
    state, atoms = bare_state(kernel, gpus=3, channels=2, channel_bits=2)
    state = network(state, system_channels=4)
    state.slot_row[:] = (np.arange(kernel.workgroups) + first) % kernel.workgroups
    seen = set()
    for slot in range(kernel.workgroups):
        w = (slot + first) % kernel.workgroups
        for wave in range(kernel.waves):
            state.channel["packet_count"] = 0
            _send(state, 1, slot % 2, END, gemm_space(0), slot, wave, SENT)
            ((channel, *packet, atom),) = arrived(state)
            assert channel // 2 != 1 and channel % 2 == slot % 2
            assert packet == [END, slot, wave]
            assert atom == marker_of(kernel, atoms, w, wave)
            seen.add(atom >> ATOM_BITS)
    assert {one & 3 for one in seen} == {0, 1, 2, 3}
    every = kernel.output_atoms(4, OFFSET_BITS, 4)
    assert (atoms.per_wave < every.per_wave).any()


@pytest.mark.parametrize(
    ("mirror", "shape", "channels", "bits"),
    [
        pytest.param(EVEN, EVEN_SHAPE, 2, 1, id="even"),
        pytest.param(EVEN, EVEN_SHAPE, 2, 3, id="even, sampled"),
        pytest.param(UNEVEN, UNEVEN_SHAPE, 2, 1, id="uneven"),
        pytest.param(UNEVEN, UNEVEN_SHAPE | {"n": 48}, 4, 3, id="uneven, sampled"),
    ],
)
def test_a_mirrored_system_announces_the_tile_that_arrives(mirror, shape, channels, bits):
    kernel = small_kernel(**shape)
    every = kernel.output_atoms(channels, OFFSET_BITS, 1 << bits)
    assert symmetry(kernel, every, channels) == mirror
    state, atoms = bare_state(kernel, channels=channels, channel_bits=bits)
    state = network(state, mirror=mirror, system_channels=1 << bits)
    state.kernel["first_workgroup"] = kernel.chunks.start[1]
    for slot in range(kernel.workgroups):
        w = (slot + int(kernel.chunks.start[1])) % kernel.workgroups
        for wave in range(kernel.waves):
            state.channel["packet_count"] = 0
            _send(state, 0, 1, END, gemm_space(0), slot, wave, SENT)
            assert arrived(state) == [(1, END, slot, wave, marker_of(kernel, atoms, w, wave))]


def test_a_whole_system_keeps_what_the_hardware_announces():
    kernel = small_kernel(**UNEVEN_SHAPE)
    state, _ = bare_state(kernel, gpus=3, channels=2, channel_bits=1)
    state = network(state)
    _send(state, 0, 1, END, gemm_space(0), 4, 1, SENT)
    ((channel, *packet),) = arrived(state)
    assert channel % 2 == 1 and packet == [END, 4, 1, SENT]


@pytest.mark.parametrize("kind", [END, UPDATE])
def test_a_marker_takes_its_own_bytes_of_a_link(kind):
    """They are not bytes of the payload."""
    kernel = small_kernel()
    state, _ = bare_state(kernel, gpus=2, channels=2, channel_bits=1)
    state = network(state)
    _send(state, 0, 0, kind, gemm_space(0), 4, 1, SENT)
    assert state.link["sent_bytes"].sum() == (HEADER_BYTES if kind == END else ATOM_BYTES)
    assert state.gpu["link_bytes"].sum() == (0 if kind == END else ATOM_BYTES)
