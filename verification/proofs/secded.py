"""Check bits: one wrong bit is corrected, two are detected, wherever they are."""

from functools import partial

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal, Value

from rtl.lib.secded import SecdedCheck, encode

from .proof import Proof
from .streams import free

__all__ = ["PROOFS", "WIDTHS", "WIDTHS_OF_ONE_CONTEXT"]

WIDTHS = (8, 41, 57, 59, 63)
"""Words of the reference hardware: the trigger unit's counts and rows, acknowledgements, ready
commands, and the tracker's entries."""

WIDTHS_OF_ONE_CONTEXT = (8, 41, 56, 59, 62)
"""The same with one context: no owner in acknowledgements and entries."""


class _Harness(Elaboratable):
    """A word as it was written, of which some bits turn before it is read."""

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
        # A sum of columns: no bit of the word is in it.
        of_flips = encode(flips[: self._width]) ^ flips[self._width :]
        self._assert(m, dut, word, flips, dut.syndrome == of_flips)
        return m


class SyndromeHarness(_Harness):
    """Any bits turn."""

    def _assert(self, m: Module, dut, word: Value, flips: Value, holds: Value) -> None:
        free(m, flips)
        m.d.comb += [
            Assert(holds, "the syndrome depends on the word"),
            Cover(flips.all() & word.all(), "all bits turn"),
        ]


class SecdedHarness(_Harness):
    """None, one or two bits turn, check bits included.

    That the syndrome does not depend on the word is proven by itself: it takes the solver a second
    alone, and minutes together with where the bits are.
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
            Assert(two | right, "a wrong bit is not corrected"),
            Assert(dut.lost == two, "lost: not if two bits are wrong"),
            Assert(dut.corrected == ~(none | two), "corrected: not if one bit is wrong"),
            Cover(turned[0][-1] & right & ~two, "the last check bit is wrong"),
            Cover(turned[0][0] & right & ~two, "the first bit is wrong"),
            Cover(two & turned[0][0] & turned[1][-1], "the first and the last one"),
            Cover(none & word.any(), "nothing is wrong"),
        ]


_STATEMENTS = {
    SecdedHarness: "Of any word, any one wrong bit is corrected and any two are detected, check "
    "bits included; that the syndrome does not depend on the word is check-syndrome's",
    SyndromeHarness: "Whatever bits of a stored word turn, the syndrome is that of these bits "
    "alone",
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
        reason="" if width in WIDTHS else "the reference's with one context",
    )
    for harness, statement in _STATEMENTS.items()
    for width in sorted({*WIDTHS, *WIDTHS_OF_ONE_CONTEXT})
)
