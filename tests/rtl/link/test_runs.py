"""Runs of consecutive atoms."""

import random

import pytest
from amaranth.sim import Simulator

from rtl.interface.encodings import PacketKind
from rtl.interface.layouts import LinkPacket
from rtl.link.layouts import FRAME_ATOMS
from rtl.link.runs import RunDetector
from rtl.parameters import T3Parameters
from tb.link_endpoint.traffic import Traffic, continues
from tb.payload import Fields

SHAPE = LinkPacket(T3Parameters(contexts=2, with_data=True))
FIELDS = Fields(SHAPE)
BASE = {"kind": PacketKind.UPDATE.value, "atom": 8 * 7, "slot": 5, "context": 1}


def detect(steps):
    """Return, for each packet with its marks ``is_word`` and ``take``, whether it continues."""
    found = []
    dut = RunDetector(SHAPE)

    async def bench(ctx):
        for packet, is_word, take in steps:
            ctx.set(dut.packet, SHAPE.from_bits(packet))
            ctx.set(dut.is_word, is_word)
            ctx.set(dut.take, take)
            found.append(bool(ctx.get(dut.continues)))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
    return found


def packet(**values):
    return FIELDS.pack({name: 0 for name in FIELDS.names} | BASE | values)


def pair_continues(first, second, *, is_word=False):
    return detect([(first, False, True), (second, is_word, True)])[1]


@pytest.mark.parametrize("kind", PacketKind)
def test_every_place(kind):
    """A run goes on to the end of an aligned block of 256 bytes; an END packet is in no run."""
    atoms = range(1, 3 * FRAME_ATOMS)
    steps = [(packet(kind=kind.value, atom=atom), False, True) for atom in atoms]
    wanted = [kind != PacketKind.END and atom % FRAME_ATOMS != 0 for atom in atoms]
    assert detect(steps)[1:] == wanted[1:]


@pytest.mark.parametrize("place", range(FRAME_ATOMS))
def test_only_the_next_atom(place):
    first = packet(atom=64 + place)
    for step in range(-9, 10):
        found = pair_continues(first, packet(atom=64 + place + step))
        assert found == (step == 1 and place < FRAME_ATOMS - 1)


def test_every_other_field_is_the_same():
    """A packet that differs in a bit of a field other than its data has a header of its own."""
    first, second = packet(), packet(atom=BASE["atom"] + 1)
    assert pair_continues(first, second)
    for bit in range(FIELDS.width):
        is_data = bit >= FIELDS.width - 256
        assert pair_continues(first, second ^ 1 << bit) == is_data


def test_a_word_ends_a_run():
    first, second = packet(), packet(atom=BASE["atom"] + 1)
    assert not pair_continues(first, second, is_word=True)
    assert detect([(first, True, True), (second, False, True)]) == [False, False]
    third = (packet(atom=BASE["atom"] + 2), False, True)
    assert detect([(first, False, True), (second, True, True), third])[1:] == [False, False]


def test_against_reference():
    """A packet that is not taken changes nothing."""
    seed = 12
    print("seed", seed)
    rng = random.Random(seed)
    traffic = Traffic(rng, SHAPE)
    steps, wanted, before = [], [], None
    for _ in range(3000):
        shown, take, is_word = traffic.next(), rng.random() < 0.9, rng.random() < 0.05
        values = FIELDS.named(shown)
        steps.append((shown, is_word, take))
        wanted.append(not is_word and continues(before, values))
        if take:
            before = None if is_word else values
    assert detect(steps) == wanted
    assert 500 < sum(wanted) < 2500
