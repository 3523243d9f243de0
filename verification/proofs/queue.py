"""Queue: what goes in comes out, once, in order and unchanged."""

from functools import partial

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from rtl.interface.layouts import DramRequest
from rtl.lib.queue import Queue
from rtl.parameters import T3Parameters

from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_DEPTHS = (2, 4, 8)  # those of rtl/, and one between


class QueueHarness(Elaboratable):
    """Counts what is in the queue, and follows one payload, whichever, through it."""

    def __init__(self, queue: type = Queue, *, depth: int):
        self._queue = queue
        self._depth = depth

    def elaborate(self, platform):
        m = Module()
        depth = self._depth
        # The widest payload there is; no bit of it is looked at.
        shape = DramRequest(T3Parameters(contexts=1))
        m.submodules.dut = dut = self._queue(shape, depth=depth)
        free(m, dut.i.valid, dut.i.p, dut.drop, dut.o.ready)

        put, take = Signal(), Signal()
        held = Signal(range(depth + 2))
        m.d.comb += [put.eq(moves(dut.i) & ~dut.drop), take.eq(moves(dut.o))]
        m.d.sync += held.eq(held + put - take)

        follows = Signal()
        ahead = Signal(range(depth + 1))
        payload = Signal.like(dut.i.p)
        with m.If(~follows):
            with m.If(AnySeq(1) & put):
                m.d.sync += [follows.eq(1), ahead.eq(held - take), payload.eq(dut.i.p)]
        with m.Elif(take):
            m.d.sync += [ahead.eq(ahead - 1), follows.eq(ahead != 0)]

        first = Signal()
        m.d.comb += [
            first.eq(follows & (ahead == 0)),
            Assert(dut.level == held, "level: not what was put less what was taken"),
            Assert(held <= depth, "more is held than there is room for"),
            Assert(dut.i.ready == (held != depth), "ready: not while there is room"),
            Assert(dut.o.valid == (held != 0), "valid: not while something is held"),
            Assert(~first | (dut.o.p == payload), "a payload changes, or not in its turn"),
            Cover(held == depth, "full"),
            Cover((held == depth) & dut.i.valid & dut.o.ready, "full while both sides would"),
            Cover(first & take & (held == 1), "the followed payload leaves last"),
            Cover(put & take, "one in, one out"),
            Cover(moves(dut.i) & dut.drop, "a payload dropped"),
        ]
        assert_held(m, dut.o, "o")

        # For the induction: the entries between the pointers, and the followed one among them.
        write, read = dut.write, dut.read
        entry = dut.storage.read_port(domain="comb")
        behind = Signal(range(2 * depth))
        m.d.comb += [
            behind.eq(read.addr + ahead),
            entry.addr.eq(Mux(behind >= depth, behind - depth, behind)),
            invariant(write.addr < depth, "write pointer outside"),
            invariant(read.addr < depth, "read pointer outside"),
            invariant(
                (read.addr + held == write.addr) | (read.addr + held == write.addr + depth),
                "the pointers differ from the level",
            ),
            invariant(~follows | (ahead < held), "the followed payload is no longer held"),
            invariant(~follows | (entry.data == payload), "the followed payload changes"),
        ]
        return m


PROOFS = tuple(
    Proof(
        name=f"queue-{depth}",
        statement="Every payload that is put and not dropped comes out once, in order, unchanged; "
        "no overflow, no underflow; an offer stays until it is taken",
        blocks=(Queue,),
        harness=partial(QueueHarness, depth=depth),
        geometry=f"depth {depth}, the reference's widest payload",
        depth=2,
        cover_depth=2 * depth + 3,
        slow=depth != 4,
    )
    for depth in _DEPTHS
)
