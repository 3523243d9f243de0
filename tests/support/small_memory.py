"""Memory of a block RAM's size, and a sum of its read data."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["SmallMemory"]


class SmallMemory(wiring.Component):
    address: In(10)
    data: In(16)
    write: In(1)
    o: Out(16)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=16, depth=1024, init=[])
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [
            write.addr.eq(self.address),
            write.data.eq(self.data),
            write.en.eq(self.write),
            read.addr.eq(self.address),
            read.en.eq(1),
        ]
        m.d.sync += self.o.eq(read.data + self.o)
        return m
