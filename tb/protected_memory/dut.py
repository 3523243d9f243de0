"""Protected memory whose words can have bit errors."""

from itertools import combinations

from amaranth.hdl import Const, Module
from amaranth.sim import Simulator

from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.secded import code_word, encode

__all__ = ["CODES", "DEPTH", "FREE", "WIDTH", "WORDS", "WRONG", "make_memory"]

WIDTH = 8
_BITS = code_word(WIDTH).size
# No bit error, each one, and each pair.
WRONG = [sum(1 << bit for bit in bits) for n in range(3) for bits in combinations(range(_BITS), n)]
WORDS = [row * 37 % (1 << WIDTH) for row in range(len(WRONG))]
"""Words of the last rows, which have bit errors; the rows before them hold 0."""
DEPTH = 2 << len(WRONG).bit_length()
FREE = DEPTH - len(WRONG)
"""Number of rows before them, over which every bit of an address changes."""


def _code_words(words: list[int]) -> list[int]:
    """Words with their check bits."""
    found = []

    async def run(ctx):
        found.extend(word | ctx.get(encode(Const(word, WIDTH))) << WIDTH for word in words)

    simulator = Simulator(Module())
    simulator.add_testbench(run)
    simulator.run()
    return found


CODES = [
    code ^ wrong
    for code, wrong in zip(_code_words([0] * FREE + WORDS), [0] * FREE + WRONG, strict=True)
]
"""Initial contents of all rows in a test."""


def make_memory(block: type[ProtectedMemory] = ProtectedMemory) -> ProtectedMemory:
    """Make the memory under test; ``block`` is its class, or a copy of the class."""
    return block(WIDTH, depth=DEPTH)
