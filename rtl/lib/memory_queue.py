"""Long queue in a synchronous memory."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .split_memory import SplitMemory
from .two_port_memory import TwoPortMemory

__all__ = ["MemoryQueue"]


class MemoryQueue(wiring.Component):
    """First-in first-out queue whose oldest payload is prefetched into the memory's output
    register.

    A payload that enters an empty queue is visible two cycles later. Neither ``i.ready`` nor
    ``o.valid`` depends combinationally on an input.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    depth : int
        Payloads, including the prefetched one; at least 2.
    split : bool
        Split the memory into two halves with a single port each, which halves the area if each half
        has enough rows for a macro. A prefetch then waits for one cycle if a payload arrives while
        ``stored`` is even. The queue still accepts and delivers one payload per cycle.

    Members
    -------
    i, o : stream
    level : Out
        Payloads in the queue.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    storage : SplitMemory or TwoPortMemory
        All payloads except the prefetched one. Its row inputs are the write and read pointers.
    capacity : int
        Payloads that fit into ``storage``.
    stored : Signal
        Payloads in ``storage``.

    Raises
    ------
    ValueError
        If ``depth`` is less than 2.
    """

    def __init__(self, shape, *, depth: int, split: bool = False):
        if not isinstance(depth, int):
            raise TypeError(f"Depth must be an integer, not {depth!r}")
        if depth < 2:
            raise ValueError(f"Depth must be at least 2, not {depth!r}")
        self.capacity = depth - 1  # one is read ahead
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
                "clock_enable": Out(1),
            }
        )
        if split:
            self.storage = SplitMemory(shape, depth=max(4, self.capacity + self.capacity % 2))
        else:
            self.storage = TwoPortMemory(shape, depth=self.capacity)
        self.stored = Signal(range(depth))

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = self.storage
        stored, put, reads = self.stored, storage.write, storage.reads
        m.d.comb += [
            self.i.ready.eq(stored != self.capacity),
            self.o.p.eq(storage.data),
            self.level.eq(stored + self.o.valid),
            storage.write.eq(self.i.valid & self.i.ready),
            storage.write_data.eq(self.i.p),
            storage.read.eq((stored != 0) & (~self.o.valid | self.o.ready)),
            self.clock_enable.eq(storage.clock_enable | (self.o.valid & self.o.ready)),
        ]
        for row, moves in ((storage.write_row, put), (storage.read_row, reads)):
            pointer = Signal(range(storage.depth))
            m.d.comb += row.eq(pointer)
            with m.If(moves):
                m.d.sync += pointer.eq(Mux(pointer == storage.depth - 1, 0, pointer + 1))
        with m.If(put & ~reads):
            m.d.sync += stored.eq(stored + 1)
        with m.If(reads & ~put):
            m.d.sync += stored.eq(stored - 1)
        with m.If(reads):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
