"""How much of a context's mapped traffic is not yet over in a channel."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["UnderWay"]

COUNT_BITS = 12


class UnderWay(wiring.Component):
    """Counts stores and packets of mapped buffers from their port to their end.

    An update ends where the tracker takes it, another access with the DRAM's acknowledgement, and
    what leaves over the link where it enters a queue that is watched itself.
    A surplus of ends, which no proper memory controller makes, counts as none.

    Parameters
    ----------
    begins, ends : int
        How many may begin, and how many end one by one, in a cycle.

    Members
    -------
    begin, end : In
        A bit for each one.
    end_count : In(4)
        How many more end together.
    none : Out(1)
        Nothing is under way; what begins is counted in the next cycle, what ends in the one after.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    count : Signal
    begun, ended, ended_together : Signal
        What began and ended in the last cycle.
    """

    def __init__(self, *, begins: int, ends: int):
        super().__init__(
            {
                "begin": In(begins),
                "end": In(ends),
                "end_count": In(4),
                "none": Out(1),
                "awake": Out(1),
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
            self.awake.eq(
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
