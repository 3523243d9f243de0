import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from rtl.lib.interleave import CHANNEL_POLYNOMIALS, channel_of
from rtl.parameters import T3Parameters
from sysmodel.lib.interleave import channel_of_atom, local_of_atom, system_atom

GEOMETRIES = [(1, 8), (2, 1), (8, 4), (32, 8), (64, 16)]
NO_POWERS = [(5, 8), (24, 8), (34, 2), (40, 8), (160, 8), (192, 8), (255, 1)]
REGION = 1 << 25


@pytest.mark.parametrize("channels,interleave", GEOMETRIES + NO_POWERS)
def test_channel_equals_rtl(channels, interleave):
    p = T3Parameters(contexts=1, system_channels=channels, interleave_atoms=interleave)
    generator = random.Random(7)
    atoms = [generator.getrandbits(p.atom_address_bits) for _ in range(300)]
    atoms += [0, REGION - 1, REGION, (1 << p.atom_address_bits) - 1]

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
    offset_bits = interleave.bit_length() - 1
    assert seen == [channel_of_atom(a, offset_bits, channels) for a in atoms]


@pytest.mark.parametrize("channels,interleave", GEOMETRIES + NO_POWERS)
def test_channel_and_local_name_every_atom_once(channels, interleave):
    offset_bits = interleave.bit_length() - 1
    atoms = range(8 * channels * interleave)
    places = {
        (
            channel_of_atom(a, offset_bits, channels),
            local_of_atom(a, offset_bits, channels),
        )
        for a in atoms
    }
    assert places == {(c, a) for c in range(channels) for a in range(8 * interleave)}


@pytest.mark.parametrize("channels,interleave", GEOMETRIES + NO_POWERS)
def test_every_atom_has_one_place_and_every_place_one_atom(channels, interleave):
    offset_bits = interleave.bit_length() - 1
    generator = random.Random(channels)
    around = [n * REGION + i for n in (1, 2, 4) for i in range(-2 * channels, 2 * channels)]
    atoms = {*(generator.randrange(1 << 35) for _ in range(2000)), *around}
    places = {
        atom: (
            channel_of_atom(atom, offset_bits, channels),
            local_of_atom(atom, offset_bits, channels),
        )
        for atom in atoms
    }
    assert len(set(places.values())) == len(atoms)
    for atom, (channel, local) in places.items():
        assert 0 <= channel < channels
        assert system_atom(channel, local, offset_bits, channels) == atom


@pytest.mark.parametrize("channels", [5, 24, 40, 80, 160, 192])
@pytest.mark.parametrize("row_bytes", [2048, 5120, 8192, 10240, 16384, 24576, 36864, 49152, 57344])
def test_rows_of_a_matrix_reach_all_channels(channels, row_bytes):
    """Tiles of 256 B in as many rows as would give each channel 16 blocks: no channel has more than
    three times its share, whatever the stride and the odd number have in common."""
    rows = 16 * channels
    counts = [0] * channels
    for row in range(rows):
        counts[channel_of_atom(row * row_bytes // 32, 3, channels)] += 1
    assert max(counts) <= 3 * rows // channels


def test_local_keeps_runs_together():
    atoms = range(0x12340, 0x12348)
    local = [local_of_atom(a, 3, 32) for a in atoms]
    assert local == list(range(local[0], local[0] + 8))
    assert len({channel_of_atom(a, 3, 32) for a in atoms}) == 1


@pytest.mark.parametrize("channels", [2, 4, 8, 16, 32, 64, 128, 256])
def test_strides_and_blocks_spread(channels):
    """Rows of a matrix lie a power of two apart. As many of them as there are channels, and any
    block of a matrix with as many rows and columns together, are in each channel once."""
    for stride in range(20):
        rows = [channel_of_atom(i << (3 + stride), 3, channels) for i in range(channels)]
        assert sorted(rows) == list(range(channels)), stride


def test_a_block_of_a_matrix_keeps_to_no_channels():
    """64 rows of 16 KiB, 16 granules of 256 B of each: every one of 256 channels four times."""
    block = [
        channel_of_atom((row << 9) + (granule << 3), 3, 256)
        for row in range(64)
        for granule in range(16)
    ]
    assert sorted(block) == sorted([*range(256)] * 4)


@pytest.mark.parametrize("degree", [6, 7, 8])
def test_polynomials_of_many_channels_are_primitive(degree):
    """The powers of x have every remainder but 0 before one comes again."""
    power, seen = 1, set()
    while power not in seen:
        seen.add(power)
        power <<= 1
        if power >> degree:
            power ^= CHANNEL_POLYNOMIALS[degree]
    assert seen == set(range(1, 1 << degree))
