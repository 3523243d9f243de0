"""Proof of the memory queue: every payload comes out once, in order and unchanged."""

from functools import partial

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from rtl.lib.memory_queue import MemoryQueue

from .held import relate_pointers, word_in
from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_DEPTH = 6  # a memory in two halves then holds one payload less than it has rows
_WIDTH = 8


class MemoryQueueHarness(Elaboratable):
    """Harness that counts the payloads in the queue and observes one arbitrary payload."""

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
            Assert(dut.level == held, "level: differs from accepted minus delivered payloads"),
            Assert(held <= _DEPTH, "overflow"),
            Assert(dut.i.ready | (held >= _DEPTH - 1), "not ready, although there is space"),
            Assert(~dut.o.valid | (held != 0), "an empty queue offers a payload"),
            Assert(waited <= 1, "no payload is offered for two cycles"),
            Assert(~first | (dut.o.p == payload), "a payload changes or leaves out of order"),
            Cover((held == _DEPTH) & ~dut.i.ready, "full"),
            Cover(first & take & (held == 1), "the observed payload leaves last"),
            Cover((held > 2) & ~dut.o.valid, "a read waits")
            if self._split
            else Cover(put & take & (held > 2), "one payload enters while another leaves"),
        ]
        assert_held(m, dut.o, "o")
        self._relate(m, dut, held, follows, ahead, payload)
        m.d.comb += invariant((waited == 0) | dut.o.valid, "no payload moves to the output")
        return m

    def _relate(self, m: Module, dut: MemoryQueue, held, follows, ahead, payload) -> None:
        """Relate the ghost state to the places of the payloads."""
        memory = dut.storage
        row = Signal(range(memory.depth))
        at = memory.read_row + ahead - dut.o.valid
        word = word_in(m, memory, row)
        relate_pointers(m, dut, "payloads")
        m.d.comb += [
            row.eq(Mux(at >= memory.depth, at - memory.depth, at)),
            invariant(held == dut.stored + dut.o.valid, "held: differs from the stored payloads"),
            invariant(~follows | (ahead < held), "the observed payload has left"),
            invariant(
                ~follows | (Mux(dut.o.valid & (ahead == 0), dut.o.p, word) == payload),
                "the observed payload changes",
            ),
        ]


PROOFS = tuple(
    Proof(
        name=name,
        statement="Every payload comes out once, in order and unchanged, and is offered within two "
        "cycles if it is the first; the queue neither overflows nor underflows; an offer stays "
        "until it is taken",
        blocks=(MemoryQueue,),
        harness=partial(MemoryQueueHarness, split=split),
        geometry=f"depth {_DEPTH}, payloads of {_WIDTH} bits, {memory}",
        reason="the queue does not depend on payload bits; a longer memory has the same pointers",
        depth=1,
        cover_depth=12,
    )
    for name, split, memory in (
        ("memory-queue", False, "a memory with two ports"),
        ("split-queue", True, "a memory in two halves"),
    )
)
