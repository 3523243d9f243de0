import random

import pytest
from amaranth.sim import Simulator

from rtl.link.crc import CrcTree
from tests.support.crc_reference import crc32c, crc32c_bits


@pytest.mark.parametrize("width", [None, 8.0, True])
def test_wrong_type(width):
    with pytest.raises(TypeError, match="Width must be an integer, not "):
        CrcTree(width)


@pytest.mark.parametrize("width", [0, -1])
def test_too_narrow(width):
    with pytest.raises(ValueError, match=f"Width must be at least 1, not {width}"):
        CrcTree(width)


def crcs(width, words):
    """Return the tree's result for each word."""
    dut = CrcTree(width)
    results = []

    async def bench(ctx):
        for word in words:
            ctx.set(dut.i, word)
            results.append(ctx.get(dut.o))

    sim = Simulator(dut)
    sim.add_testbench(bench)
    sim.run()
    return results


@pytest.mark.parametrize(
    ("message", "crc"),
    [
        (b"123456789", 0xE3069283),  # the catalogue's check value
        # RFC 3720, B.4
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_published(message, crc):
    assert crc32c(message) == crc
    assert crcs(8 * len(message), [int.from_bytes(message, "little")]) == [crc]


@pytest.mark.parametrize("width", [1, 2, 7, 31, 32, 33, 100, 368])
def test_against_reference(width):
    """Each bit alone, and random words."""
    seed = width
    print("seed", seed)
    rng = random.Random(seed)
    words = [0, *(1 << bit for bit in range(width)), *(rng.getrandbits(width) for _ in range(20))]
    assert crcs(width, words) == [crc32c_bits(word, width) for word in words]
