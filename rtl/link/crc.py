"""CRC-32C of a whole word in one step."""

import heapq
from functools import lru_cache

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["CRC_BITS", "CrcTree"]

CRC_BITS = 32
_POLYNOMIAL = 0x82F63B78  # 0x1EDC6F41, bit-reversed
_ONES = (1 << CRC_BITS) - 1
# Sharing saves more than half of the gates; deeper sums would save little and lengthen the path.
_SHARED_LEVELS = 4


class CrcTree(wiring.Component):
    """CRC-32C of a word, bit 0 first; for whole bytes, the CRC of iSCSI (RFC 3720, B.4).

    Combinational, a tree of exclusive-or gates.

    Parameters
    ----------
    width : int
        Bits of the word, at least 1.

    Members
    -------
    i : In(width)
    o : Out(32)

    Raises
    ------
    ValueError
        If ``width`` is less than 1.
    """

    def __init__(self, width: int):
        if not isinstance(width, int) or isinstance(width, bool):
            raise TypeError(f"Width must be an integer, not {width!r}")
        if width < 1:
            raise ValueError(f"Width must be at least 1, not {width!r}")
        super().__init__({"i": In(width), "o": Out(CRC_BITS)})

    @staticmethod
    def of_zeros(width: int) -> int:
        """Compute the CRC of a word of zeros."""
        return _columns(width)[1]

    def elaborate(self, platform):
        m = Module()
        shared, outputs, constant = _network(len(self.i))
        terms = list(self.i)
        for first, second in shared:
            term = Signal(name=f"shared_{len(terms)}")
            m.d.comb += term.eq(terms[first] ^ terms[second])
            terms.append(term)
        m.d.comb += self.o.eq(Cat(_sum(terms, output) for output in outputs) ^ constant)
        return m


def _sum(terms, output):
    """Build the sum of an output as a tree of pairs."""
    if output == ():
        return Const(0, 1)
    if isinstance(output, tuple):
        return _sum(terms, output[0]) ^ _sum(terms, output[1])
    return terms[output]


def _columns(width: int) -> tuple[list[int], int]:
    """Compute the effect of each bit of a word on the CRC, and the CRC of a zero word."""
    columns = []
    register = _POLYNOMIAL
    for _ in range(width):
        columns.append(register)
        register = _shift(register)
    zeros = _ONES
    for _ in range(width):
        zeros = _shift(zeros)
    return columns[::-1], zeros ^ _ONES


def _shift(register: int) -> int:
    return register >> 1 ^ (_POLYNOMIAL if register & 1 else 0)


@lru_cache(maxsize=8)
def _network(width: int):
    """Find pairs of terms to share, and the terms of each output, nested in pairs.

    The pair that most outputs have in common becomes a term of its own, until no pair is in two
    outputs (Paar, "Optimized arithmetic for Reed-Solomon encoders", ISIT 1997).
    """
    columns, constant = _columns(width)  # grows by the shared terms
    levels = [0] * width
    shared: list[tuple[int, int]] = []
    heap: list[tuple[int, int, int, int]] = []

    def offer(first: int, second: int) -> None:
        common = (columns[first] & columns[second]).bit_count()
        level = max(levels[first], levels[second]) + 1
        if common > 1 and level <= _SHARED_LEVELS:
            heapq.heappush(heap, (-common, level, first, second))

    for second in range(width):
        for first in range(second):
            offer(first, second)
    while heap:
        negated, level, first, second = heapq.heappop(heap)
        common = columns[first] & columns[second]
        if common.bit_count() != -negated:
            offer(first, second)
            continue
        columns[first] ^= common
        columns[second] ^= common
        shared.append((first, second))
        columns.append(common)
        levels.append(level)
        for other in range(len(columns) - 1):
            offer(other, len(columns) - 1)
    outputs = [
        _nest([(levels[i], i) for i, column in enumerate(columns) if column >> bit & 1])
        for bit in range(CRC_BITS)
    ]
    return shared, outputs, constant


def _nest(terms: list[tuple[int, int]]):
    """Nest terms in pairs so that their sum has the fewest levels."""
    if not terms:
        return ()
    order = [(level, index, term) for index, (level, term) in enumerate(sorted(terms))]
    while len(order) > 1:
        first, second = heapq.heappop(order), heapq.heappop(order)
        heapq.heappush(order, (max(first[0], second[0]) + 1, first[1], (first[2], second[2])))
    return order[0][2]
