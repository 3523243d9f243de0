"""Long queue, in either memory: what goes in comes out, once, in order and unchanged."""

from functools import partial

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from rtl.lib.memory_queue import MemoryQueue

from .held import relate_pointers, word_in
from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_DEPTH = 6  # so that a memory in halves takes one less than it has rows
_WIDTH = 8


class MemoryQueueHarness(Elaboratable):
    """Counts what is in the queue, and follows one payload, whichever, through it."""

    def __init__(self, queue: type = MemoryQueue, *, split: bool):
        self._queue, self._split = queue, split

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._queue(_WIDTH, depth=_DEPTH, split=self._split)
        free(m, dut.i.valid, dut.i.p, dut.o.ready)
        put, take = moves(dut.i), moves(dut.o)
        held = Signal(range(_DEPTH + 2))
        waited = Signal(2)
        m.d.sync += [
            held.eq(held + put - take),
            waited.eq(Mux((held != 0) & ~dut.o.valid, waited + 1, 0)),
        ]
        follows, ahead = Signal(), Signal(range(_DEPTH + 1))
        payload = Signal.like(dut.i.p)
        with m.If(~follows):
            with m.If(AnySeq(1) & put):
                m.d.sync += [follows.eq(1), ahead.eq(held - take), payload.eq(dut.i.p)]
        with m.Elif(take):
            m.d.sync += [ahead.eq(ahead - 1), follows.eq(ahead != 0)]
        first = follows & (ahead == 0) & dut.o.valid
        m.d.comb += [
            Assert(dut.level == held, "level: not what was put less what was taken"),
            Assert(held <= _DEPTH, "more is held than there is room for"),
            Assert(dut.i.ready | (held >= _DEPTH - 1), "no room, for nothing"),
            Assert(~dut.o.valid | (held != 0), "something is offered, but nothing is held"),
            Assert(waited <= 1, "nothing is offered for two cycles"),
            Assert(~first | (dut.o.p == payload), "a payload changes, or not in its turn"),
            Cover((held == _DEPTH) & ~dut.i.ready, "full"),
            Cover(first & take & (held == 1), "the followed payload leaves last"),
            Cover((held > 2) & ~dut.o.valid, "a read waited")
            if self._split
            else Cover(put & take & (held > 2), "one in, one out"),
        ]
        assert_held(m, dut.o, "o")
        self._relate(m, dut, held, follows, ahead, payload)
        m.d.comb += invariant((waited == 0) | dut.o.valid, "it does not move")
        return m

    def _relate(self, m: Module, dut: MemoryQueue, held, follows, ahead, payload) -> None:
        """Where the payloads are."""
        memory = dut.storage
        row = Signal(range(memory.depth))
        at = memory.read_row + ahead - dut.o.valid
        word = word_in(m, memory, row)
        relate_pointers(m, dut, "payloads")
        m.d.comb += [
            row.eq(Mux(at >= memory.depth, at - memory.depth, at)),
            invariant(held == dut.stored + dut.o.valid, "held: not what is there"),
            invariant(~follows | (ahead < held), "the followed payload is no longer held"),
            invariant(
                ~follows | (Mux(dut.o.valid & (ahead == 0), dut.o.p, word) == payload),
                "the followed payload changes",
            ),
        ]


PROOFS = tuple(
    Proof(
        name=name,
        statement="Every payload comes out once, in order and unchanged, and is offered within two "
        "cycles if nothing is before it; no overflow, no underflow; an offer stays until it is "
        "taken",
        blocks=(MemoryQueue,),
        harness=partial(MemoryQueueHarness, split=split),
        geometry=f"depth {_DEPTH}, payloads of {_WIDTH} bits, {memory}",
        reason="no bit of a payload is looked at; a longer memory has the same pointers",
        depth=1,
        cover_depth=12,
    )
    for name, split, memory in (
        ("memory-queue", False, "a memory with two ports"),
        ("split-queue", True, "a memory in two halves"),
    )
)
