"""Single-error correction and double-error detection (SECDED) for words in a memory."""

from functools import cache
from itertools import combinations, count

from amaranth.hdl import Cat, Module, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SecdedCheck", "check_bits", "code_word", "encode"]


def check_bits(width: int) -> int:
    """Compute the number of check bits for a word of ``width`` bits.

    The code needs a distinct column of odd weight for every bit. With *r* check bits there are
    ``2**(r - 1)`` such columns, and *r* of them belong to the check bits themselves.
    """
    if not isinstance(width, int) or width < 1:
        raise ValueError(f"Width must be a positive integer, not {width!r}")
    return next(bits for bits in count(3) if (1 << (bits - 1)) - bits >= width)


@cache
def _columns(width: int) -> tuple[int, ...]:
    """Choose the column of each bit of the word: the check bits that cover it.

    Columns have odd weight, lightest first and spread evenly over the check bits (M. Y. Hsiao, "A
    class of optimal minimum odd-weight-column SEC-DED codes", IBM J. R&D 14, 1970).
    """
    checks = check_bits(width)
    load = [0] * checks
    chosen = []
    for weight in range(3, checks + 1, 2):
        left = list(combinations(range(checks), weight))
        while left and len(chosen) < width:
            # Choose the column that keeps the most loaded check bit least loaded.
            best = min(left, key=lambda rows: sorted((load[row] for row in rows), reverse=True))
            left.remove(best)
            chosen.append(sum(1 << row for row in best))
            for row in best:
                load[row] += 1
    return tuple(chosen)


def encode(word: Value) -> Value:
    """Compute the check bits of a word; a zero word has zero check bits."""
    columns = _columns(len(word))
    return Cat(
        Cat(bit for bit, column in zip(word, columns, strict=True) if column >> row & 1).xor()
        for row in range(check_bits(len(word)))
    )


def code_word(shape) -> data.StructLayout:
    """Layout of a memory word: ``word`` of a shape and its ``check`` bits."""
    return data.StructLayout({"word": shape, "check": check_bits(Shape.cast(shape).width)})


class SecdedCheck(wiring.Component):
    """SECDED checker: corrects a word read from a memory. Combinational.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Word.

    Members
    -------
    i : In(:func:`code_word`)
        Code word as it was read.
    o : Out(shape)
        Word, correct if ``i`` has at most a single-bit error.
    corrected : Out(1)
        ``i`` has a single-bit error.
    lost : Out(1)
        ``i`` has an uncorrectable error: every double-bit error, and some errors of more bits.
        ``o`` is invalid.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    syndrome : Signal
        Difference between the check bits as read and as computed; 0 without an error.
    """

    def __init__(self, shape):
        code = code_word(shape)
        super().__init__({"i": In(code), "o": Out(shape), "corrected": Out(1), "lost": Out(1)})
        self.syndrome = Signal(code["check"].width)

    def elaborate(self, platform):
        m = Module()
        read = Value.cast(self.i.word)
        syndrome = self.syndrome
        flips = Signal(len(read))
        own = Signal()  # the error is in a check bit
        # Simulators turn the case into a table; comparisons took a sixth of a run's time.
        with m.Switch(syndrome):
            for index, column in enumerate(_columns(len(read))):
                with m.Case(column):
                    m.d.comb += flips.eq(1 << index)
            with m.Case(*(1 << row for row in range(len(syndrome)))):
                m.d.comb += own.eq(1)
        m.d.comb += [
            syndrome.eq(encode(read) ^ self.i.check),
            Value.cast(self.o).eq(read ^ flips),
            self.corrected.eq(flips.any() | own),
            self.lost.eq(syndrome.any() & ~self.corrected),
        ]
        return m
