"""Protected memory: what is written is read, also when a bit turns meanwhile."""

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
    """Reads, writes and injects what it likes, and turns bits in the memory through a port of its
    own.

    Follows one address, whichever. No more than two bits of its word are wrong at a time.
    """

    def __init__(self, memory: type = ProtectedMemory):
        self._memory = memory

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._memory(_WIDTH, depth=_DEPTH)
        words = dut.words
        free(m, dut.read_address, dut.read, dut.write_address, dut.write, dut.i, dut.patrol)
        injected = inject_freely(m, dut.inject, dut.injector, dut.write)
        address = Signal.like(dut.read_address)
        m.d.comb += address.eq(AnyConst(len(address)))

        # A reset leaves a memory as it is.
        word = Signal(_WIDTH, reset_less=True)
        wrong = Signal(words.shape.size, reset_less=True)
        stored, turn = words.read_port(domain="comb"), words.write_port()
        turns = Signal.like(wrong)
        free(m, turn.en, turns)
        writes, reads, patrols = Signal(), Signal(), Signal()
        m.d.comb += [
            stored.addr.eq(address),
            turn.addr.eq(address),
            Value.cast(turn.data).eq(Value.cast(stored.data) ^ turns),
            writes.eq(dut.write & (dut.write_address == address)),
            reads.eq(dut.read & (dut.read_address == address)),
            patrols.eq(dut.patrolled & (dut.walk.row == address)),
            Assume(~(turn.en & (writes | patrols))),
            Assume(sum(wrong) <= 2),
        ]
        with m.If(turn.en):
            m.d.sync += wrong.eq(wrong ^ turns)
        with m.If(patrols):
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

        self._relate_patrol(m, dut, address, word, word_then, code(word_then, wrong_then))
        m.d.comb += [
            Cover(patrols & (wrong != 0), "the patrol corrects"),
            Cover(dut.walk.holds & dut.write, "the patrol gives way"),
            Assert(~(patrols & writes), "the patrol writes beside the traffic"),
            invariant(sum(wrong_then) <= 2, "too many wrong bits"),
        ]
        m.d.comb += invariant(stored.data.as_value() == code(word, wrong), "another word is kept")
        with m.If(was_read):
            read = dut.read_port.data.as_value()
            m.d.comb += [
                Assert((bits == 2) | (dut.o == word_then), "another word than was written"),
                Assert(dut.corrected == (bits == 1), "corrected: not if one bit was wrong"),
                Assert(dut.lost == (bits == 2), "lost: not if two bits were wrong"),
                Cover((bits == 1) & word_then.any(), "corrected"),
                Cover((bits == 2) & word_then.any(), "lost"),
                Cover((word != word_then) & (bits == 0), "read while it is written"),
                invariant(read == code(word_then, wrong_then), "another word was read"),
            ]
        return m

    def _relate_patrol(
        self, m: Module, dut, address: Signal, word: Signal, word_then: Signal, code: Value
    ) -> None:
        """What the patrol has read of the followed word, and what it holds of it."""
        walk, here = dut.walk, dut.walk.row == address
        read = dut.read_port.data.as_value()
        m.d.comb += [
            invariant(~(walk.looks & here) | (read == code), "the patrol has read another word"),
            invariant(
                ~(walk.looks & here & ~dut.written) | (word == word_then),
                "the word is another one, though nothing was written",
            ),
            invariant(~(walk.holds & here) | (dut.fixed == word), "the patrol holds another word"),
            invariant(~(walk.looks & walk.holds), "two steps at a time"),
            invariant(~(walk.looks & walk.looked), "a look after a look"),
        ]


PROOFS = (
    Proof(
        name="protected-memory",
        statement="A read gives the word that was written last, and not by a write of its cycle; "
        "with one of its bits turned in the memory it gives the same and tells so, with two it "
        "tells that the word is lost; an injection turns the lowest bit, or the two lowest, of the "
        "next word that is written, and nothing else; the patrol's writes leave every word as the "
        "traffic has written it, right",
        blocks=(ProtectedMemory,),
        harness=ProtectedMemoryHarness,
        geometry=f"{_DEPTH} words of {_WIDTH} bits",
        reason="check-bits and check-syndrome have every width; of a memory's words all are alike",
        depth=1,
        cover_depth=6,
    ),
)
