"""Single error correction, double error detection for words in a memory."""

from functools import cache
from itertools import combinations, count

from amaranth.hdl import Cat, Module, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SecdedCheck", "check_bits", "code_word", "encode"]


def check_bits(width: int) -> int:
    """Check bits for a word of ``width`` bits.

    The code needs a column of odd weight for every bit, all different: of *r* check bits
    ``2**(r - 1)``, of which *r* are the check bits' own.
    """
    if not isinstance(width, int) or width < 1:
        raise ValueError(f"Width must be a positive integer, not {width!r}")
    return next(bits for bits in count(3) if (1 << (bits - 1)) - bits >= width)


@cache
def _columns(width: int) -> tuple[int, ...]:
    """Which check bits each bit of the word takes part in.

    Odd weights, the lightest first and spread evenly over the check bits, as M. Y. Hsiao chose
    them ("A class of optimal minimum odd-weight-column SEC-DED codes", IBM J. R&D 14, 1970).
    """
    checks = check_bits(width)
    load = [0] * checks
    chosen = []
    for weight in range(3, checks + 1, 2):
        left = list(combinations(range(checks), weight))
        while left and len(chosen) < width:
            # The one that makes the fullest check bit least full.
            best = min(left, key=lambda rows: sorted((load[row] for row in rows), reverse=True))
            left.remove(best)
            chosen.append(sum(1 << row for row in best))
            for row in best:
                load[row] += 1
    return tuple(chosen)


def encode(word: Value) -> Value:
    """The check bits of a word; 0 for a word that is 0."""
    columns = _columns(len(word))
    return Cat(
        Cat(bit for bit, column in zip(word, columns, strict=True) if column >> row & 1).xor()
        for row in range(check_bits(len(word)))
    )


def code_word(shape) -> data.StructLayout:
    """What a memory keeps of a ``word`` of this shape: the word and its ``check`` bits."""
    return data.StructLayout({"word": shape, "check": check_bits(Shape.cast(shape).width)})


class SecdedCheck(wiring.Component):
    """Corrects a word read from a memory. Combinational.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of the word.

    Members
    -------
    i : In(:func:`code_word`)
        As it was read.
    o : Out(shape)
        The word, right if at most one bit of ``i`` is wrong.
    corrected : Out(1)
        One bit of ``i`` was wrong.
    lost : Out(1)
        More were: two always, of three or more some. ``o`` means nothing.

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    syndrome : Signal
        By which check bits the word as read differs from its code; 0 if nothing is wrong.
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
        own = Signal()  # a check bit is wrong
        # Simulators make a table of a case, where comparisons took a sixth of the time of a run.
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
