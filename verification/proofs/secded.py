"""Proof of the check bits: any single-bit error is corrected, any double-bit error detected."""

from functools import partial

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal, Value

from rtl.lib.secded import SecdedCheck, encode

from .proof import Proof
from .streams import free

__all__ = ["PROOFS", "WIDTHS", "WIDTHS_OF_ONE_CONTEXT"]

WIDTHS = (8, 41, 57, 59, 74)
"""Word widths of the reference hardware: the trigger unit's counts and rows, acknowledgements,
ready commands, and the tracker's entries."""

WIDTHS_OF_ONE_CONTEXT = (8, 41, 56, 59, 73)
"""Word widths with one context, where acknowledgements and entries have no owner."""


class _Harness(Elaboratable):
    """Harness in which bits of an arbitrary written word flip before it is read."""

    def __init__(self, check: type = SecdedCheck, *, width: int):
        self._check = check
        self._width = width

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._check(self._width)
        size = len(Value.cast(dut.i))
        word, flips = Signal(self._width), Signal(size)
        free(m, word)
        m.d.comb += Value.cast(dut.i).eq(Cat(word, encode(word)) ^ flips)
        # A sum of columns of the code, independent of the word.
        of_flips = encode(flips[: self._width]) ^ flips[self._width :]
        self._assert(m, dut, word, flips, dut.syndrome == of_flips)
        return m


class SyndromeHarness(_Harness):
    """Harness in which arbitrary bits flip."""

    def _assert(self, m: Module, dut, word: Value, flips: Value, holds: Value) -> None:
        free(m, flips)
        m.d.comb += [
            Assert(holds, "the syndrome depends on the word"),
            Cover(flips.all() & word.all(), "all bits flip"),
        ]


class SecdedHarness(_Harness):
    """Harness in which no bit, one bit or two bits flip, check bits included.

    The independence of the syndrome from the word has a proof of its own, because the solver needs
    a second for it alone and minutes for both together.
    """

    def _assert(self, m: Module, dut, word: Value, flips: Value, holds: Value) -> None:
        size = len(flips)
        dispatch_indices = [
            Signal(range(size), name=f"dispatch_index_{index}") for index in range(2)
        ]
        turned = [Signal(size, name=f"turned_{index}") for index in range(2)]
        for dispatch_index, bits in zip(dispatch_indices, turned, strict=True):
            turns = AnySeq(1)
            free(m, dispatch_index)
            m.d.comb += bits.eq(Cat(turns & (dispatch_index == index) for index in range(size)))
        none, two = Signal(), Signal()
        right = dut.o == word
        m.d.comb += [
            Assume(holds),
            flips.eq(turned[0] | turned[1]),
            none.eq(~flips.any()),
            two.eq(turned[0].any() & turned[1].any() & (turned[0] != turned[1])),
            Assert(two | right, "a single-bit error is not corrected"),
            Assert(dut.lost == two, "lost: differs from a double-bit error"),
            Assert(dut.corrected == ~(none | two), "corrected: differs from a single-bit error"),
            Cover(turned[0][-1] & right & ~two, "an error in the last check bit"),
            Cover(turned[0][0] & right & ~two, "an error in the first bit"),
            Cover(two & turned[0][0] & turned[1][-1], "errors in the first and the last bit"),
            Cover(none & word.any(), "no error"),
        ]


_STATEMENTS = {
    SecdedHarness: "In any word, any single-bit error is corrected and any double-bit error is "
    "detected, check bits included; check-syndrome proves that the syndrome does not depend on the "
    "word",
    SyndromeHarness: "The syndrome of a stored word depends only on the flipped bits, not on the "
    "word",
}
_NAMES = {SecdedHarness: "check-bits", SyndromeHarness: "check-syndrome"}

PROOFS = tuple(
    Proof(
        name=f"{_NAMES[harness]}-{width}",
        statement=statement,
        blocks=(SecdedCheck,),
        harness=partial(harness, width=width),
        geometry=f"words of {width} bits",
        depth=1,
        cover_depth=1,
        slow=harness is SyndromeHarness or width != max(WIDTHS),
        reason="" if width in WIDTHS else "width of the reference with one context",
    )
    for harness, statement in _STATEMENTS.items()
    for width in sorted({*WIDTHS, *WIDTHS_OF_ONE_CONTEXT})
)
