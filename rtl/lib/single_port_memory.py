"""Single-port memory, which either writes or reads in a cycle."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["SinglePortMemory"]


class SinglePortMemory(wiring.Component):
    """Single-port SRAM: half the area of an SRAM that writes and reads in the same cycle.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Row.
    depth : int
        Rows.

    Members
    -------
    write, read : In(1)
        Never both in one cycle.
    write_address, read_address : In
    i : In(shape)
        Data to write.
    o : Out(shape)
        Data of the last read, from the next cycle on.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    memory : Memory
    """

    def __init__(self, shape, *, depth: int):
        address = range(depth)
        super().__init__(
            {
                "write": In(1),
                "read": In(1),
                "write_address": In(address),
                "read_address": In(address),
                "i": In(shape),
                "o": Out(shape),
            }
        )
        self.memory = Memory(shape=shape, depth=depth, init=[])
        self._ports = self.memory.write_port(), self.memory.read_port()

    def elaborate(self, platform):
        m = Module()
        write, read = self._ports
        address = Signal.like(write.addr)
        get_memory = getattr(platform, "get_single_port_memory", None)
        memory = self.memory if get_memory is None else get_memory(self.memory, address)
        m.submodules.memory = memory
        m.d.comb += [
            address.eq(Mux(self.write, self.write_address, self.read_address)),
            write.addr.eq(address),
            write.en.eq(self.write),
            write.data.eq(self.i),
            read.addr.eq(address),
            read.en.eq(self.read),
            self.o.eq(read.data),
        ]
        return m
