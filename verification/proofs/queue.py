"""Proof of the queue: every payload comes out once, in order and unchanged."""

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

_DEPTHS = (2, 4, 8)  # depths in rtl/, and one between them


class QueueHarness(Elaboratable):
    """Harness that counts the payloads in the queue and observes one arbitrary payload."""

    def __init__(self, queue: type = Queue, *, depth: int):
        self._queue = queue
        self._depth = depth

    def elaborate(self, platform):
        m = Module()
        depth = self._depth
        # The widest payload of the hardware; the queue does not depend on its bits.
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
            Assert(dut.level == held, "level: differs from accepted minus delivered payloads"),
            Assert(held <= depth, "overflow"),
            Assert(dut.i.ready == (held != depth), "ready: differs from free space"),
            Assert(dut.o.valid == (held != 0), "valid: differs from not empty"),
            Assert(~first | (dut.o.p == payload), "a payload changes or leaves out of order"),
            Cover(held == depth, "full"),
            Cover((held == depth) & dut.i.valid & dut.o.ready, "full while both sides are active"),
            Cover(first & take & (held == 1), "the observed payload leaves last"),
            Cover(put & take, "one payload enters while another leaves"),
            Cover(moves(dut.i) & dut.drop, "a payload is dropped"),
        ]
        assert_held(m, dut.o, "o")

        # For the induction: the entries between the pointers, and the observed one among them.
        write, read = dut.write, dut.read
        entry = dut.storage.read_port(domain="comb")
        behind = Signal(range(2 * depth))
        m.d.comb += [
            behind.eq(read.addr + ahead),
            entry.addr.eq(Mux(behind >= depth, behind - depth, behind)),
            invariant(write.addr < depth, "write pointer out of range"),
            invariant(read.addr < depth, "read pointer out of range"),
            invariant(
                (read.addr + held == write.addr) | (read.addr + held == write.addr + depth),
                "the pointers differ from the level",
            ),
            invariant(~follows | (ahead < held), "the observed payload has left"),
            invariant(~follows | (entry.data == payload), "the observed payload changes"),
        ]
        return m


PROOFS = tuple(
    Proof(
        name=f"queue-{depth}",
        statement="Every payload that enters and is not dropped comes out once, in order and "
        "unchanged; the queue neither overflows nor underflows; an offer stays until it is taken",
        blocks=(Queue,),
        harness=partial(QueueHarness, depth=depth),
        geometry=f"depth {depth}, widest payload of the reference",
        depth=2,
        cover_depth=2 * depth + 3,
        slow=depth != 4,
    )
    for depth in _DEPTHS
)
