import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from rtl.lib.interleave import channel_of
from rtl.parameters import T3Parameters
from sysmodel.lib.interleave import channel_of_atom, local_of_atom

GEOMETRIES = [(1, 8), (2, 1), (8, 4), (32, 8), (64, 16)]


@pytest.mark.parametrize("channels,interleave", GEOMETRIES)
def test_channel_equals_rtl(channels, interleave):
    p = T3Parameters(system_channels=channels, interleave_atoms=interleave)
    generator = random.Random(7)
    atoms = [generator.getrandbits(p.atom_address_bits) for _ in range(300)]
    atoms += [0, (1 << p.atom_address_bits) - 1]

    m = Module()
    atom = Signal(p.atom_address_bits)
    channel = Signal(8)
    m.d.comb += channel.eq(channel_of(p, atom))
    seen = []

    async def bench(ctx):
        for value in atoms:
            ctx.set(atom, value)
            seen.append(ctx.get(channel))

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    offset_bits, channel_bits = interleave.bit_length() - 1, channels.bit_length() - 1
    assert seen == [channel_of_atom(a, offset_bits, channel_bits) for a in atoms]


@pytest.mark.parametrize("channels,interleave", GEOMETRIES)
def test_channel_and_local_name_every_atom_once(channels, interleave):
    offset_bits, channel_bits = interleave.bit_length() - 1, channels.bit_length() - 1
    atoms = range(8 * channels * interleave)
    places = {
        (
            channel_of_atom(a, offset_bits, channel_bits),
            local_of_atom(a, offset_bits, channel_bits),
        )
        for a in atoms
    }
    assert places == {(c, a) for c in range(channels) for a in range(8 * interleave)}


def test_local_keeps_runs_together():
    atoms = range(0x12340, 0x12348)
    local = [local_of_atom(a, 3, 5) for a in atoms]
    assert local == list(range(local[0], local[0] + 8))
    assert len({channel_of_atom(a, 3, 5) for a in atoms}) == 1


def test_strides_spread():
    """Column-major tiles step by powers of two, which low address bits would put in one channel."""
    for stride in (1 << 8, 1 << 11, 1 << 13):
        channels = {channel_of_atom(i * stride, 3, 5) for i in range(1024)}
        assert len(channels) == 32
