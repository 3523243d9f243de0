"""Memory with one write and one read per cycle, in arbitrary rows."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["TwoPortMemory"]


class TwoPortMemory(wiring.Component):
    """Two-port memory with the ports of :class:`~rtl.lib.split_memory.SplitMemory`.

    It has any depth, and a read never waits.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Row.
    depth : int
        Rows.

    Members
    -------
    write, read : In(1)
        Write ``write_data`` into ``write_row``; read ``read_row``.
    reads : Out(1)
        The row is read, as always. ``data`` holds it from the next cycle on, until the next read.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    depth : int
    memory : Memory
    """

    def __init__(self, shape, *, depth: int):
        super().__init__(
            {
                "write": In(1),
                "write_row": In(range(depth)),
                "write_data": In(shape),
                "read": In(1),
                "read_row": In(range(depth)),
                "reads": Out(1),
                "data": Out(shape),
                "clock_enable": Out(1),
            }
        )
        self.depth = depth
        self.memory = Memory(shape=shape, depth=depth, init=[])
        self._ports = self.memory.write_port(), self.memory.read_port()

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self.memory
        write, read = self._ports
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.write_row),
            write.data.eq(self.write_data),
            read.en.eq(self.read),
            read.addr.eq(self.read_row),
            self.reads.eq(self.read),
            self.data.eq(read.data),
            self.clock_enable.eq(self.write | self.read),
        ]
        return m
