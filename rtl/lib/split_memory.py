"""Memory with one write and one read per cycle, made of two single-port halves."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .single_port_memory import SinglePortMemory

__all__ = ["SplitMemory"]


class SplitMemory(wiring.Component):
    """Memory with even rows in one single-port half and odd rows in the other.

    If writes and reads each go through consecutive rows, a read that has once waited for its half
    uses, from then on, the half that the writes do not use. The memory thus performs one write and
    one read per cycle, at half the area of two-port cells.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Row.
    depth : int
        Rows; even, at least 4.

    Members
    -------
    write : In(1)
        Write ``write_data`` into ``write_row``. A write has priority over a read.
    read : In(1)
        Read ``read_row``, if it is in the half that is not written.
    reads : Out(1)
        The row is read. ``data`` holds it from the next cycle on, until the next read.

    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    depth : int
    halves : list of SinglePortMemory
        Rows 0, 2, 4 and so on; rows 1, 3, 5 and so on.

    Raises
    ------
    ValueError
        If ``depth`` is odd or less than 4.
    """

    def __init__(self, shape, *, depth: int):
        if not isinstance(depth, int) or isinstance(depth, bool):
            raise TypeError(f"Depth must be an integer, not {depth!r}")
        if depth < 4 or depth % 2:
            raise ValueError(f"Depth must be an even number, at least 4, not {depth!r}")
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
        self.halves = [SinglePortMemory(shape, depth=depth // 2) for _ in range(2)]

    def elaborate(self, platform):
        m = Module()
        was_odd = Signal()  # the row that was read last
        for half, memory in enumerate(self.halves):
            m.submodules[("even", "odd")[half]] = memory
            m.d.comb += [
                memory.write.eq(self.write & (self.write_row[0] == half)),
                memory.write_address.eq(self.write_row[1:]),
                memory.i.eq(self.write_data),
                memory.read.eq(self.reads & (self.read_row[0] == half)),
                memory.read_address.eq(self.read_row[1:]),
            ]
        even_half, odd_half = self.halves
        m.d.comb += [
            self.reads.eq(self.read & ~(self.write & (self.write_row[0] == self.read_row[0]))),
            self.data.eq(Mux(was_odd, odd_half.o, even_half.o)),
            self.clock_enable.eq(self.write | self.read),
        ]
        with m.If(self.reads):
            m.d.sync += was_odd.eq(self.read_row[0])
        return m
