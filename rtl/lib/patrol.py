"""A walk over a memory with check bits that writes corrected words back, in cycles without
traffic."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Patrol"]


class Patrol(wiring.Component):
    """One step reads a row in *t*, looks at it in *t + 1*, and writes what was corrected in
    *t + 2*. With a write of the traffic in any of these cycles it is in vain, and the row's turn
    again; so it is after a correction, because a row of several words may need more.

    Parameters
    ----------
    rows : int

    Members
    -------
    step : In(1)
        Strobe: a step is due, from the next cycle on.
    free : In(1)
        The traffic reads nothing in this cycle.
    reads : Out(1)
        The step reads ``row``.
    looks : Out(1)
        It did in the last cycle. A register.
    row : Out
    correctable : In(1)
        In the cycle after ``reads``: the row has a word with one wrong bit.
    disturbed : In(1)
        Likewise: the traffic has written a row since ``reads``, or in its cycle.
    holds : Out(1)
        In the cycle after that: what was corrected is written to ``row`` if the traffic does not
        write.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    due : Signal
        A step is due.
    looked : Signal
        It was in the cycle before that, and nothing disturbed: unless something is corrected, it is
        the next row's turn.
    """

    def __init__(self, rows: int):
        self._rows = rows
        self.due, self.looked = Signal(), Signal()
        super().__init__(
            {
                "step": In(1),
                "free": In(1),
                "reads": Out(1),
                "looks": Out(1),
                "row": Out(range(max(rows, 2))),
                "correctable": In(1),
                "disturbed": In(1),
                "holds": Out(1),
                "awake": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        due, looks = self.due, self.looks
        m.d.comb += [
            self.reads.eq(due & self.free & ~looks & ~self.holds),
            self.awake.eq(Cat(self.step, due, looks, self.looked, self.holds).any()),
        ]
        m.d.sync += [
            due.eq(self.step | (due & ~self.reads)),
            looks.eq(self.reads),
            self.looked.eq(looks & ~self.disturbed),
            self.holds.eq(looks & self.correctable & ~self.disturbed),
        ]
        # What is correctable is known late, so the row moves on a cycle later, in front of `row`.
        row, following = Signal.like(self.row), Signal.like(self.row)
        m.d.comb += [
            following.eq(Mux(row == self._rows - 1, 0, row + 1)),
            self.row.eq(Mux(self.looked & ~self.holds, following, row)),
        ]
        m.d.sync += row.eq(self.row)
        return m
