"""Proof of the queue of end-of-tile markers: stores and packets take turns."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Signal

from rtl.channel.end_queue import EndQueue

from .channel import PARAMETERS
from .held import held
from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]


class EndQueueHarness(Elaboratable):
    """Harness with arbitrary markers of stores and packets, of which arbitrary ones are dropped; it
    observes one arbitrary marker.
    """

    def __init__(self, queue: type = EndQueue):
        self._queue = queue

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._queue(PARAMETERS)
        contents = held(m, dut.queue, "queue")
        for stream in (dut.stores, dut.packets):
            free(m, stream.valid, stream.p)
        free(m, dut.drop, dut.o.ready)
        stores, packets, leaves = map(moves, (dut.stores, dut.packets, dut.o))
        enters = stores | (packets & ~dut.drop)
        count = Signal(range(dut.queue.depth + 1))
        m.d.sync += count.eq(count + enters - leaves)
        assert_held(m, dut.o, "o")
        m.d.comb += [
            Assert(~(stores & packets), "two markers at once"),
            Assert(dut.o.valid == (count != 0), "a marker is lost, doubled or not dropped"),
            Assert(
                Cat(stores, packets).any()
                | ~(dut.stores.valid | dut.packets.valid)
                | (count == dut.queue.depth),
                "a marker waits despite space",
            ),
            Cover(packets & dut.drop, "a marker is dropped"),
            Cover((count == dut.queue.depth) & dut.packets.valid, "no space"),
            invariant(count == contents.level, "count"),
        ]
        self._take_turns(m, dut)
        self._follow(m, dut, contents, count, enters, leaves)
        return m

    def _take_turns(self, m: Module, dut) -> None:
        """Count the markers of one source that pass a waiting marker of the other."""
        pairs = ((dut.stores, dut.packets, "store"), (dut.packets, dut.stores, "packet"))
        for number, (mine, other, name) in enumerate(pairs):
            passes = Signal(2, name=f"passes_{name}")
            with m.If(~mine.valid | mine.ready):
                m.d.sync += passes.eq(0)
            with m.Elif(moves(other)):
                m.d.sync += passes.eq(passes + 1)
            m.d.comb += [
                Assert(passes <= 1, f"a marker of a {name} waits for more than one other"),
                Cover(moves(mine) & (passes == 1), f"a marker of a {name} has its turn"),
                invariant((passes == 0) | (dut.merge.last == 1 - number), f"{name}: turn"),
            ]

    def _follow(self, m: Module, dut, contents, count, enters, leaves) -> None:
        """Assert that the observed marker leaves unchanged and in its turn."""
        follows, ahead = Signal(), Signal.like(count)
        payload = Signal.like(dut.o.p)
        with m.If(~follows):
            with m.If(AnySeq(1) & enters):
                m.d.sync += [follows.eq(1), ahead.eq(count - leaves)]
                with m.If(moves(dut.stores)):
                    m.d.sync += payload.eq(dut.stores.p)
                with m.Else():
                    m.d.sync += payload.eq(dut.packets.p)
        with m.Elif(leaves):
            m.d.sync += [ahead.eq(ahead - 1), follows.eq(ahead != 0)]
        first = follows & (ahead == 0)
        m.d.comb += [
            Assert(~first | (dut.o.valid & (dut.o.p == payload)), "a marker changes its place"),
            invariant(~follows | (ahead < count), "the observed marker has left"),
        ]
        m.d.comb += [
            invariant(~follows | (ahead != index) | (entry == payload), f"entry {index}: differs")
            for index, entry in enumerate(contents.entries)
        ]


PROOFS = (
    Proof(
        name="end-queue",
        statement="A marker of a store or of a packet waits for at most one marker of the other "
        "source while the queue has space; markers leave once, unchanged and in the order in which "
        "they were taken, and a dropped one does not leave",
        blocks=(EndQueue,),
        harness=EndQueueHarness,
        geometry="2 entries, 4 workgroups, 2 wavefronts",
        reason="the queue does not read its payloads",
        depth=1,
        cover_depth=8,
    ),
)
