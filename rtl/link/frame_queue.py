"""Receive buffer of a flow."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.split_memory import SplitMemory

__all__ = ["FrameQueue"]


class FrameQueue(wiring.Component):
    """First-in first-out queue that offers a frame's payloads only when the frame is committed.

    Payloads are written as they arrive. The first payload of a frame overwrites those of the frame
    before it that were not committed. The oldest payload is prefetched into the output register of
    the memory: a payload that is committed into an empty queue is visible two cycles later. Neither
    ``i.ready`` nor ``o.valid`` depends combinationally on the other stream.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    depth : int
        Payloads, including the prefetched one; at least 2.

    Members
    -------
    i : In(stream)
        ``ready`` depends on ``first``.
    drop : In(1)
        ``i.p`` is not kept: it is written, and the next payload overwrites it. May come late: no
        read of the memory depends on it.
    first : In(1)
        ``i.p`` is the first payload of a frame, or would be.
    commit : In(1)
        The frame ends here, and its payloads, with ``i.p`` if it is taken, will be offered.
    o : Out(stream)
    level : Out
        Committed payloads in the queue.

    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    storage : SplitMemory
        All payloads except the prefetched one. A prefetch waits for a cycle if a payload is written
        into the half that it reads.
    capacity : int
        Payloads that fit into ``storage``.
    stored, held : Signal
        Committed payloads in ``storage``; committed payloads and the kept ones of the last frame.
    row, committed_row : Signal
        Row behind the ``held`` payloads; row behind the committed ones.
    """

    def __init__(self, shape, *, depth: int):
        self.capacity = depth - 1  # one payload is prefetched
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "drop": In(1),
                "first": In(1),
                "commit": In(1),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
                "clock_enable": Out(1),
            }
        )
        self.storage = SplitMemory(shape, depth=max(4, self.capacity + self.capacity % 2))
        self.stored, self.held = Signal(range(depth)), Signal(range(depth))
        self.row, self.committed_row = (Signal(range(self.storage.depth)) for _ in range(2))

    def _next(self, row: Signal):
        return Mux(row == self.storage.depth - 1, 0, row + 1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = self.storage
        put, reads = Signal(), storage.reads
        held, held_next, row = (Signal.like(one) for one in (self.held, self.held, self.row))
        read_row, row_next = Signal.like(self.row), Signal.like(self.row)
        m.d.comb += [
            held.eq(Mux(self.first, self.stored, self.held)),
            row.eq(Mux(self.first, self.committed_row, self.row)),
            self.i.ready.eq(held != self.capacity),
            storage.write.eq(self.i.valid & self.i.ready),
            put.eq(storage.write & ~self.drop),
            held_next.eq(held + put - reads),
            row_next.eq(Mux(put, self._next(row), row)),
            storage.write_row.eq(row),
            storage.write_data.eq(self.i.p),
            storage.read.eq((self.stored != 0) & (~self.o.valid | self.o.ready)),
            storage.read_row.eq(read_row),
            self.o.p.eq(storage.data),
            self.level.eq(self.stored + self.o.valid),
            self.clock_enable.eq(
                storage.clock_enable | self.first | self.commit | (self.o.valid & self.o.ready)
            ),
        ]
        m.d.sync += [
            self.held.eq(held_next),
            self.row.eq(row_next),
            self.stored.eq(Mux(self.commit, held_next, self.stored - reads)),
        ]
        with m.If(self.commit):
            m.d.sync += self.committed_row.eq(row_next)
        with m.If(reads):
            m.d.sync += [self.o.valid.eq(1), read_row.eq(self._next(read_row))]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
