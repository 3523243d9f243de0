"""What a tracker bank holds of one context."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ContextCount"]


class ContextCount(wiring.Component):
    """Counts a context's entries, and its completions that wait.

    Entries that the memory has lost stay counted, and others take their places. A count of all ones
    is therefore more than there can be; it stays until it is cleared, and never is 0 by mistake.

    Parameters
    ----------
    entries, completions : int
        How many there are at most.

    Members
    -------
    more, fewer : In(1)
        An entry got in use in the last cycle, or was freed.
    clear : In(1)
        None is in use any longer.
    completes : In(1)
        A completion begins to wait. It may come late in the cycle.
    leaves : In(1)
        One ends.
    none : Out(1)
        There is neither. It follows registers and ``more``.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    in_use, waiting : Signal
        Entries and completions.
    """

    def __init__(self, *, entries: int, completions: int):
        super().__init__(
            {
                "more": In(1),
                "fewer": In(1),
                "clear": In(1),
                "completes": In(1),
                "leaves": In(1),
                "none": Out(1),
            }
        )
        self.in_use = Signal(range(entries + 2))
        self.waiting = Signal(range(completions + 1))

    def elaborate(self, platform):
        m = Module()
        in_use, waiting = self.in_use, self.waiting
        m.d.comb += self.none.eq((in_use == 0) & (waiting == 0) & ~self.more)
        # Both sums at once, before it is known which of them counts.
        one_more, no_more = Mux(self.leaves, waiting, waiting + 1), waiting - self.leaves
        m.d.sync += waiting.eq(Mux(self.completes, one_more, no_more))
        counts = ~in_use.all()
        with m.If(self.clear):
            m.d.sync += in_use.eq(0)
        with m.Elif(self.more & counts):
            m.d.sync += in_use.eq(in_use + 1)
        with m.Elif(self.fewer & counts):
            m.d.sync += in_use.eq(in_use - 1)
        return m
