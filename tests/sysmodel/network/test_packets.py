"""Packets of several atoms behind one header: which atoms share a packet, and their time."""

import numpy as np
import pytest

from rtl.interface.encodings import PacketKind
from sysmodel.engine.ports import CHANNEL_OUTPUTS, O
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.compiled import cached_njit
from sysmodel.network.capacity import PacketSizes
from sysmodel.network.link import can_send, deliver, offer_credit, send
from tests.support.small_kernel import bare_state, small_kernel
from tests.support.small_network import join

HEADER_BYTES, ATOMS = 21, 8
SHARE = ATOMS * ATOM_BYTES / (ATOMS * ATOM_BYTES + HEADER_BYTES)
LATE = 10_000
OFFERED = ("atom", "slot", "wavefront", "destination", "generation", "kind")


@cached_njit()
def _drive(s, offers, from_cycle):
    """Offer packets one after the other, each from a cycle on; return the cycle after the last."""
    gpu, channel = s.gpu[0], s.channel[0]
    inputs, outputs = s.inputs[0], s.outputs[0][:CHANNEL_OUTPUTS]
    now = 0
    for i in range(len(offers)):
        outputs[O.link_out_atom] = offers[i, 0]
        outputs[O.link_out_slot] = offers[i, 1]
        outputs[O.link_out_wavefront] = offers[i, 2]
        outputs[O.link_out_destination] = offers[i, 3]
        outputs[O.link_out_generation] = offers[i, 4]
        outputs[O.link_out_kind] = offers[i, 5]
        while True:
            offer_credit(s, gpu)
            deliver(s, channel, now, inputs, True)
            now += 1
            if now >= from_cycle[i] and can_send(s, 0, 0, channel, outputs):
                send(s, 0, 0, now, outputs)
                break
    return now


def sent(offers, *, late=(), rate=3.0):
    """Send packets over a link of some payload in a cycle; return the cycles, the packets with
    payload, and the bytes on the line."""
    of_atom, of_header = ATOM_BYTES * SHARE, HEADER_BYTES * SHARE
    sizes = PacketSizes(atom_bytes=[of_atom] * 2, header_bytes=[of_header] * 2, atoms=ATOMS)
    state, _ = bare_state(small_kernel(), channels=1)
    state = join(state, rate=rate, packets=sizes)
    table = np.array([[one.get(name, 0) for name in OFFERED] for one in offers], np.uint64)
    begins = np.zeros(len(offers), np.int64)
    begins[list(late)] = LATE
    cycles = _drive(state, table, begins)
    line = state.link["sent_bytes"].sum() / SHARE
    return cycles, int(state.gpu["packets"].sum()), line


UPDATE = {"kind": PacketKind.UPDATE.value}


def run(first, atoms, **fields):
    return [UPDATE | fields | {"atom": first + i} for i in range(atoms)]


@pytest.mark.parametrize(
    ("offers", "packets"),
    [
        (run(0, 8), 1),
        (run(0, 64), 8),
        (run(5, 8), 2),  # a packet lies in a block of its longest size
        (run(0, 2) + run(16, 2), 2),  # rows of 64 bytes
        ([one for pair in zip(run(0, 8), run(64, 8), strict=True) for one in pair], 16),
        (run(0, 4) + run(4, 4, slot=1), 2),
        (run(0, 4) + run(4, 4, wavefront=1), 2),
        (run(0, 4) + run(4, 4, destination=1), 2),
        (run(0, 4) + run(4, 4, generation=1), 2),
        (run(0, 4) + run(4, 4, kind=PacketKind.STORE.value), 2),
        (run(0, 4)[::-1], 4),
        ([{"kind": PacketKind.END.value, "atom": i} for i in range(3)], 0),
        (run(0, 4) + [{"kind": PacketKind.END.value, "atom": 4}] + run(5, 3), 2),
    ],
)
def test_atoms_share_a_packet(offers, packets):
    """Atoms of a packet follow each other in memory, in a tile and on the way. A packet, and an END
    packet, has one header."""
    _, found, line = sent(offers)
    ends = sum(one["kind"] == PacketKind.END.value for one in offers)
    assert found == packets
    payload = (len(offers) - ends) * ATOM_BYTES
    assert line == pytest.approx(payload + (packets + ends) * HEADER_BYTES)


def test_an_atom_that_comes_late_has_a_header():
    assert sent(run(0, 8), late=[4])[1] == 2


@pytest.mark.parametrize(("atoms", "share"), [(1, 0.604), (2, 0.753), (4, 0.859), (8, 0.924)])
def test_share_of_the_payload(atoms, share):
    """Rows of some atoms have this share of the line, and take as long."""
    rate, rows = 3.0, 2000
    offers = [one for row in range(rows) for one in run(ATOMS * row, atoms)]
    cycles, _, line = sent(offers, rate=rate)
    payload = len(offers) * ATOM_BYTES
    assert payload / line == pytest.approx(share, abs=5e-4)
    assert cycles == pytest.approx(line * SHARE / rate, rel=0.01)
