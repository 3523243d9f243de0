"""Proof of the protected memory: a read returns the last written word, also after a bit error."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal, Value

from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.secded import encode

from .injection import inject_freely
from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_WIDTH = 8
_DEPTH = 4


class ProtectedMemoryHarness(Elaboratable):
    """Harness with arbitrary reads, writes, injections and bit errors in the memory.

    It observes one arbitrary address, whose word has at most two bit errors at a time.
    """

    def __init__(self, memory: type = ProtectedMemory):
        self._memory = memory

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._memory(_WIDTH, depth=_DEPTH)
        words = dut.words
        free(m, dut.read_address, dut.read, dut.write_address, dut.write, dut.i, dut.scrub)
        injected = inject_freely(m, dut.inject, dut.injector, dut.write)
        address = Signal.like(dut.read_address)
        m.d.comb += address.eq(AnyConst(len(address)))

        # A reset does not change a memory.
        word = Signal(_WIDTH, reset_less=True)
        wrong = Signal(words.shape.size, reset_less=True)
        stored, turn = words.read_port(domain="comb"), words.write_port()
        turns = Signal.like(wrong)
        free(m, turn.en, turns)
        writes, reads, scrubs = Signal(), Signal(), Signal()
        m.d.comb += [
            stored.addr.eq(address),
            turn.addr.eq(address),
            Value.cast(turn.data).eq(Value.cast(stored.data) ^ turns),
            writes.eq(dut.write & (dut.write_address == address)),
            reads.eq(dut.read & (dut.read_address == address)),
            scrubs.eq(dut.scrub_corrected & (dut.walk.row == address)),
            Assume(~(turn.en & (writes | scrubs))),
            Assume(sum(wrong) <= 2),
        ]
        with m.If(turn.en):
            m.d.sync += wrong.eq(wrong ^ turns)
        with m.If(scrubs):
            m.d.sync += wrong.eq(0)
        with m.If(writes):
            m.d.sync += [word.eq(dut.i), wrong.eq(injected)]

        was_read = Signal()
        word_then, wrong_then = Signal.like(word), Signal.like(wrong)
        m.d.sync += [was_read.eq(reads), word_then.eq(word), wrong_then.eq(wrong)]
        bits = Signal(range(len(wrong) + 1))
        m.d.comb += bits.eq(sum(wrong_then))

        def code(written: Value, turned: Value) -> Value:
            return Cat(written, encode(written)) ^ turned

        self._relate_scrubber(m, dut, address, word, word_then, code(word_then, wrong_then))
        m.d.comb += [
            Cover(scrubs & (wrong != 0), "the scrubber corrects"),
            Cover(dut.walk.holds & dut.write, "the scrubber waits for a write of the traffic"),
            Assert(~(scrubs & writes), "the scrubber and the traffic write at the same time"),
            invariant(sum(wrong_then) <= 2, "more than two bit errors"),
        ]
        m.d.comb += invariant(
            stored.data.as_value() == code(word, wrong), "the stored word differs"
        )
        with m.If(was_read):
            read = dut.read_port.data.as_value()
            m.d.comb += [
                Assert(
                    (bits == 2) | (dut.o == word_then), "the read word differs from the written one"
                ),
                Assert(dut.corrected == (bits == 1), "corrected: differs from a single-bit error"),
                Assert(dut.lost == (bits == 2), "lost: differs from a double-bit error"),
                Cover((bits == 1) & word_then.any(), "corrected"),
                Cover((bits == 2) & word_then.any(), "lost"),
                Cover((word != word_then) & (bits == 0), "a word is read while it is written"),
                invariant(read == code(word_then, wrong_then), "the read code word differs"),
            ]
        return m

    def _relate_scrubber(
        self, m: Module, dut, address: Signal, word: Signal, word_then: Signal, code: Value
    ) -> None:
        """Relate the scrubber's copies of the observed word to the ghost state."""
        walk, here = dut.walk, dut.walk.row == address
        read = dut.read_port.data.as_value()
        m.d.comb += [
            invariant(~(walk.looks & here) | (read == code), "the scrubber has read another word"),
            invariant(
                ~(walk.looks & here & ~dut.written) | (word == word_then),
                "the word changed without a write",
            ),
            invariant(
                ~(walk.holds & here) | (dut.fixed == word), "the scrubber holds another word"
            ),
            invariant(~(walk.looks & walk.holds), "two scrub steps at a time"),
            invariant(~(walk.looks & walk.looked), "two reads in a row"),
        ]


PROOFS = (
    Proof(
        name="protected-memory",
        statement="A read returns the word that was written last before its cycle; with a "
        "single-bit error in the memory it returns the corrected word and reports the correction, "
        "with a double-bit error it reports the word as lost; an injection inverts only the lowest "
        "bit, or the two lowest bits, of the next written word; the scrubber's writes preserve "
        "every word and remove its bit errors",
        blocks=(ProtectedMemory,),
        harness=ProtectedMemoryHarness,
        geometry=f"{_DEPTH} words of {_WIDTH} bits",
        reason="check-bits and check-syndrome cover every width; all words of a memory are alike",
        depth=1,
        cover_depth=6,
    ),
)
