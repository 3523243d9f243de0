"""Proof of the link's receive buffer: the payloads of committed frames leave once and in order."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from rtl.link.frame_queue import FrameQueue

from .held import word_in
from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_DEPTH = 6  # the memory holds one payload less than it has rows
_WIDTH = 8


class FrameQueueHarness(Elaboratable):
    """Harness that counts the payloads of committed frames and of the last one, and observes one
    arbitrary payload until it leaves or its frame is dropped."""

    def __init__(self, queue: type = FrameQueue):
        self._queue = queue

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._queue(_WIDTH, depth=_DEPTH)
        free(m, dut.i.valid, dut.i.p, dut.drop, dut.first, dut.commit, dut.o.ready)
        put, take = moves(dut.i) & ~dut.drop, moves(dut.o)
        held, pending = Signal(range(_DEPTH + 2)), Signal(range(_DEPTH + 2))
        before, idle = Signal.like(pending), Signal()
        m.d.comb += before.eq(Mux(dut.first, 0, pending))
        m.d.sync += [
            held.eq(held - take + Mux(dut.commit, before + put, 0)),
            pending.eq(Mux(dut.commit, 0, before + put)),
            idle.eq((held != 0) & ~dut.o.valid & ~moves(dut.i)),
        ]
        m.d.comb += [
            Assert(dut.level == held, "level: differs from the committed payloads"),
            Assert(held + pending <= _DEPTH, "overflow"),
            Assert(
                dut.i.ready | (held + before >= _DEPTH - 1), "not ready, although there is space"
            ),
            Assert(
                ~dut.o.valid | (held != 0), "a payload is offered before its frame is committed"
            ),
            Assert(~idle | dut.o.valid, "no payload is offered, although none is written"),
            Cover((held == _DEPTH) & ~dut.i.ready, "full"),
            Cover(dut.first & (pending == 3) & (held == 2), "a frame is dropped"),
            Cover(dut.commit & (pending == 3) & (held == 2), "a frame is committed"),
        ]
        assert_held(m, dut.o, "o")
        self._observe(m, dut, held, before, put, take)
        self._relate(m, dut, held, pending)
        return m

    def _observe(self, m: Module, dut: FrameQueue, held, before, put, take) -> None:
        """Observe an arbitrary payload, and its place behind the next one to leave."""
        follows, waits, ahead = Signal(), Signal(), Signal(range(_DEPTH + 1))
        payload, row = Signal.like(dut.i.p), Signal(range(dut.storage.depth))
        leaves = follows & ~waits & (ahead == 0) & dut.o.valid
        with m.If(~follows):
            with m.If(AnySeq(1) & put):
                m.d.sync += [
                    follows.eq(1),
                    waits.eq(~dut.commit),
                    ahead.eq(held - take + before),
                    payload.eq(dut.i.p),
                ]
        with m.Else():
            m.d.sync += [
                ahead.eq(ahead - take),
                waits.eq(waits & ~dut.commit),
                follows.eq(~(waits & dut.first) & ~(leaves & take)),
            ]
        at = dut.storage.read_row + ahead - dut.o.valid
        word = word_in(m, dut.storage, row)
        m.d.comb += [
            row.eq(Mux(at >= dut.storage.depth, at - dut.storage.depth, at)),
            Assert(~leaves | (dut.o.p == payload), "a payload changes or leaves out of order"),
            Cover(leaves & take & (held == 1), "the observed payload leaves last"),
            invariant(~follows | waits | (ahead < held), "the observed payload has left"),
            invariant(
                ~(follows & waits) | (ahead - held < dut.held - dut.stored),
                "the observed payload is not in the last frame",
            ),
            invariant(~(follows & waits) | (ahead >= held), "the observed payload is committed"),
            invariant(
                ~follows | (Mux(leaves, dut.o.p, word) == payload),
                "the observed payload changes",
            ),
        ]

    def _relate(self, m: Module, dut: FrameQueue, held, pending) -> None:
        """Relate the counts to those of the queue, and the pointers to each other."""
        depth = dut.storage.depth

        def behind(row, distance):
            return Mux(row + distance >= depth, row + distance - depth, row + distance)

        read_row = dut.storage.read_row
        m.d.comb += [
            invariant(held == dut.stored + dut.o.valid, "held: differs from the stored payloads"),
            invariant(dut.held == dut.stored + pending, "the last frame has another length"),
            invariant(dut.held <= dut.capacity, "the memory overflows"),
            invariant(read_row < depth, "read row out of range"),
            invariant(dut.committed_row == behind(read_row, dut.stored), "committed row"),
            invariant(dut.row == behind(read_row, dut.held), "row"),
        ]


PROOFS = (
    Proof(
        name="link-frame-queue",
        statement="The payloads of committed frames leave once, in order and unchanged, and no "
        "others; the buffer neither overflows nor underflows; an offer stays until it is taken",
        blocks=(FrameQueue,),
        harness=FrameQueueHarness,
        geometry=f"depth {_DEPTH}, payloads of {_WIDTH} bits",
        reason="the buffer does not depend on payload bits; a longer memory has the same pointers",
        depth=1,
        cover_depth=14,
    ),
)
