"""What has arrived at a link endpoint, until its channel takes it."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.split_memory import SplitMemory

__all__ = ["Arrivals"]


class Arrivals(wiring.Component):
    """First-in first-out queue for what is given only into room, in single-port memories.

    What comes in one cycle is visible two cycles later. One in and one out per cycle; a read waits
    a cycle when the same half is written.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    depth : int
        Payloads for which there is room; see :class:`SplitMemory`. One more is read ahead.

    Members
    -------
    i : In(stream)
        Always taken.
    o : Out(stream)
        ``valid`` is a register.
    empty : Out(1)
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(self, shape, *, depth: int):
        self._depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape, always_ready=True)),
                "o": Out(stream.Signature(shape)),
                "empty": Out(1),
                "awake": Out(1),
            }
        )
        self._memory = SplitMemory(shape, depth=depth)
        self.stored = Signal(range(depth + 1))

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = self._memory
        stored, put, reads = self.stored, self.i.valid, memory.reads
        m.d.comb += [
            memory.write.eq(put),
            memory.write_data.eq(self.i.p),
            memory.read.eq((stored != 0) & (~self.o.valid | self.o.ready)),
            self.o.p.eq(memory.data),
            self.empty.eq((stored == 0) & ~self.o.valid),
            self.awake.eq(memory.awake | (self.o.valid & self.o.ready)),
        ]
        for row, moves in ((memory.write_row, put), (memory.read_row, reads)):
            pointer = Signal(range(self._depth))
            m.d.comb += row.eq(pointer)
            with m.If(moves):
                m.d.sync += pointer.eq(Mux(pointer == self._depth - 1, 0, pointer + 1))
        with m.If(put & ~reads):
            m.d.sync += stored.eq(stored + 1)
        with m.If(reads & ~put):
            m.d.sync += stored.eq(stored - 1)
        with m.If(reads):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
