"""The queue that stands between any two stages of the hardware."""

from amaranth.hdl import Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

__all__ = ["Queue"]


class Queue(wiring.Component):
    """First-in first-out queue of stream payloads.

    What is taken in one cycle can leave in the next. Neither ``i.ready`` nor ``o.valid`` depends
    combinationally on an input, and a full queue takes nothing even while it gives.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    depth : int
        Entries, at least 2: with one, a queue could not move a payload every cycle.

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
        self._shape = shape
        self._depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
            }
        )

    @property
    def depth(self) -> int:
        return self._depth

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = fifo = SyncFIFO(width=len(Value.cast(self.i.p)), depth=self._depth)
        m.d.comb += [
            fifo.w_data.eq(self.i.p),
            fifo.w_en.eq(self.i.valid),
            self.i.ready.eq(fifo.w_rdy),
            self.o.p.eq(fifo.r_data),
            self.o.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.o.ready),
            self.level.eq(fifo.level),
        ]
        return m
