"""Counts of one context's entries and completions in a tracker bank."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ContextCount"]


class ContextCount(wiring.Component):
    """Counters of a context's entries and of its waiting completions.

    Entries that the memory has lost stay counted while others take their places, so the count may
    exceed the capacity. It saturates at all ones until it is cleared, so that it never wraps to 0.

    Parameters
    ----------
    entries, completions : int
        Greatest numbers of entries and of completions.

    Members
    -------
    more, fewer : In(1)
        An entry was allocated in the last cycle; an entry was freed.
    clear : In(1)
        All entries are freed.
    completes : In(1)
        A completion begins to wait. May arrive late in a cycle.
    leaves : In(1)
        A completion leaves.
    none : Out(1)
        There are neither entries nor completions. Depends on registers and ``more``.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    in_use, waiting : Signal
        Numbers of entries and of completions.
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
        # Both sums are computed before `completes` selects one of them.
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
