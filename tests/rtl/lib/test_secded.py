"""The code of protected memories: every single and every double bit error."""

from itertools import combinations

import pytest
from amaranth.hdl import Const
from amaranth.sim import Simulator

from rtl.lib.secded import SecdedCheck, check_bits, code_word, encode

# Group count, and words of the trigger unit, the ready queue and the tracker.
WIDTHS = (1, 8, 41, 57, 59, 63)


def simulate(width, words):
    """Return the decoder's outputs for code words, as (word, corrected, lost)."""
    dut = SecdedCheck(width)
    seen = []

    async def bench(ctx):
        for word in words:
            ctx.set(dut.i.as_value(), word)
            seen.append((ctx.get(dut.o), ctx.get(dut.corrected), ctx.get(dut.lost)))

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def check_of(width, word):
    """Check bits of a word, from the check of it without any: its syndrome finds them."""
    total = code_word(width).size
    clean = [word | check << width for check in range(1 << (total - width))]
    found = [
        one
        for one, (_, corrected, lost) in zip(clean, simulate(width, clean), strict=True)
        if not corrected and not lost
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("width", "bits"), [(1, 3), (4, 4), (8, 5), (11, 5), (12, 6), (57, 7), (58, 8), (120, 8)]
)
def test_number_of_check_bits(width, bits):
    assert check_bits(width) == bits


@pytest.mark.parametrize("width", [0, -1, "8"])
def test_width_is_checked(width):
    with pytest.raises(ValueError, match="Width must be a positive integer"):
        check_bits(width)


@pytest.mark.parametrize("width", WIDTHS)
def test_zeros_are_a_code_word(width):
    assert encode(Const(0, width)).shape().width == check_bits(width)
    assert simulate(width, [0]) == [(0, 0, 0)]


@pytest.mark.parametrize("width", WIDTHS)
def test_bit_errors(width):
    word = 0x2B5A_93C6_0F17_E48D & ((1 << width) - 1)
    code = check_of(width, word)
    bits = range(code_word(width).size)
    ones = [code ^ 1 << bit for bit in bits]
    assert set(simulate(width, ones)) == {(word, 1, 0)}
    twos = [code ^ 1 << a ^ 1 << b for a, b in combinations(bits, 2)]
    assert {(corrected, lost) for _, corrected, lost in simulate(width, twos)} == {(0, 1)}
