"""Queue between two stages of the hardware."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["Queue"]


class Queue(wiring.Component):
    """First-in first-out queue of stream payloads.

    A payload can leave in the cycle after it arrived. Neither ``i.ready`` nor ``o.valid`` depends
    combinationally on an input, so a full queue accepts no payload even while one leaves.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    depth : int
        Entries, at least 2: with one, a queue could not move a payload every cycle.

    Members
    -------
    i, o : stream
    drop : In(1)
        Discard the payload at ``i`` as it is taken. It may arrive late in a cycle, since it gates
        no bit of an entry.
    level : Out
        Entries in the queue.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    storage : Memory
        Entries.
    write, read : WritePort, ReadPort
        Ports of ``storage``: their addresses are the positions of the next entry and of the oldest.

    Raises
    ------
    ValueError
        If ``depth`` is less than 2.
    """

    def __init__(self, shape, *, depth: int):
        if not isinstance(depth, int):
            raise TypeError(f"Depth must be an integer, not {depth!r}")
        if depth < 2:
            raise ValueError(f"Depth must be at least 2, not {depth!r}")
        self._depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "drop": In(1),
                "level": Out(range(depth + 1)),
                "clock_enable": Out(1),
            }
        )
        self.storage = Memory(shape=shape, depth=depth, init=[])
        self.write = self.storage.write_port()
        self.read = self.storage.read_port(domain="comb")

    @property
    def depth(self) -> int:
        return self._depth

    def elaborate(self, platform):
        m = Module()
        depth = self._depth
        m.submodules.storage = self.storage
        write, read = self.write, self.read
        put = Signal()
        take = Signal()
        m.d.comb += [
            self.i.ready.eq(self.level != depth),
            self.o.valid.eq(self.level != 0),
            put.eq(self.i.valid & self.i.ready & ~self.drop),
            take.eq(self.o.valid & self.o.ready),
            write.data.eq(self.i.p),
            # A dropped payload is written as well: the next payload overwrites it.
            write.en.eq(self.i.valid & self.i.ready),
            self.o.p.eq(read.data),
            self.clock_enable.eq(write.en | take),
        ]
        for happens, address in ((put, write.addr), (take, read.addr)):
            pointer = Signal.like(address)
            m.d.comb += address.eq(pointer)
            with m.If(happens):
                m.d.sync += pointer.eq(Mux(pointer == depth - 1, 0, pointer + 1))
        # `drop` arrives last, so it only selects between two finished levels.
        m.d.sync += self.level.eq(
            Mux(put, self.level + ~take, self.level - take),
        )
        return m
