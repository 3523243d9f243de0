"""Counter of a context's outstanding requests in a channel."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["OutstandingCounter"]

COUNT_BITS = 12


class OutstandingCounter(wiring.Component):
    """Counter of outstanding stores and packets of mapped buffers.

    A request begins at its port. An update ends when the tracker accepts it, another access with
    its issue acknowledgement, and a remote store when it enters the monitored queue for the link. A
    surplus of ends, which only a faulty memory controller causes, leaves the count at 0.

    Parameters
    ----------
    begins, ends : int
        Numbers of requests that may begin, and that may end individually, in a cycle.

    Members
    -------
    begin, end : In
        One bit per request that begins or ends.
    end_count : In(4)
        Number of further requests that end together.
    none : Out(1)
        No request is outstanding. A begin takes effect in the next cycle, an end one cycle later.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    count : Signal
    begun, ended, ended_together : Signal
        Begins and ends of the last cycle.
    """

    def __init__(self, *, begins: int, ends: int):
        super().__init__(
            {
                "begin": In(begins),
                "end": In(ends),
                "end_count": In(4),
                "none": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.begun, self.ended = Signal.like(self.begin), Signal.like(self.end)
        self.ended_together = Signal.like(self.end_count)
        self.count = Signal(COUNT_BITS)

    def elaborate(self, platform):
        m = Module()
        begun, ended, ended_together = self.begun, self.ended, self.ended_together
        count, difference = self.count, Signal(COUNT_BITS + 1)
        m.d.comb += [
            difference.eq(count + sum(begun) - sum(ended) - ended_together),
            self.none.eq(~count.any() & ~begun.any()),
            self.clock_enable.eq(
                Cat(self.begin, self.end, self.end_count, begun, ended, ended_together).any()
            ),
        ]
        m.d.sync += [
            begun.eq(self.begin),
            ended.eq(self.end),
            ended_together.eq(self.end_count),
            count.eq(Mux(difference[-1], 0, difference)),
        ]
        return m
