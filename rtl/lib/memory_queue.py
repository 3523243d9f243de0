# amaranth: UnusedElaboratable=no
"""A long queue, in a memory that is read in one cycle and gives in the next."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["MemoryQueue"]


class MemoryQueue(wiring.Component):
    """First-in first-out queue whose oldest payload is read ahead, into the memory's register.

    What comes in one cycle is visible two cycles later. Neither ``i.ready`` nor ``o.valid`` depends
    combinationally on an input.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    depth : int
        Payloads, the one that was read ahead among them; at least 2.

    Members
    -------
    i, o : stream
    level : Out
        Payloads in the queue.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    storage : Memory
        All payloads but the one that was read ahead.
    write, read : WritePort, ReadPort
        Of ``storage``: their addresses are where the next payload goes, and the next to be read is.
    stored : Signal
        Payloads in ``storage``.
    reads : Signal
        One is read ahead in this cycle.

    Raises
    ------
    TypeError
        If ``depth`` is not an integer.
    ValueError
        If ``depth`` is less than 2.
    """

    def __init__(self, shape, *, depth: int):
        if not isinstance(depth, int):
            raise TypeError(f"Depth must be an integer, not {depth!r}")
        if depth < 2:
            raise ValueError(f"Depth must be at least 2, not {depth!r}")
        self._rows = depth - 1
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
                "awake": Out(1),
            }
        )
        self.storage = Memory(shape=shape, depth=self._rows, init=[])
        self.write, self.read = self.storage.write_port(), self.storage.read_port()
        self.stored = Signal(range(depth))
        self.reads = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self.storage
        write, read, stored = self.write, self.read, self.stored
        put = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq(stored != self._rows),
            self.o.p.eq(read.data),
            self.level.eq(stored + self.o.valid),
            write.data.eq(self.i.p),
            write.en.eq(put),
            self.reads.eq((stored != 0) & (~self.o.valid | self.o.ready)),
            read.en.eq(self.reads),
            self.awake.eq(put | self.reads | (self.o.valid & self.o.ready)),
        ]
        for port, moves in ((write, put), (read, self.reads)):
            pointer = Signal(range(self._rows))
            m.d.comb += port.addr.eq(pointer)
            with m.If(moves):
                m.d.sync += pointer.eq(Mux(pointer == self._rows - 1, 0, pointer + 1))
        with m.If(put & ~self.reads):
            m.d.sync += stored.eq(stored + 1)
        with m.If(self.reads & ~put):
            m.d.sync += stored.eq(stored - 1)
        with m.If(self.reads):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
