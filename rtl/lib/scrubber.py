"""Memory scrubber: writes corrected words back in cycles without traffic."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Scrubber"]


class Scrubber(wiring.Component):
    """Scrubber of a memory with check bits.

    One step reads a row in *t*, checks it in *t + 1*, and writes a corrected word in *t + 2*. If
    the traffic writes in any of these cycles, the step is repeated for the same row. A row is also
    repeated after a correction, because it may hold several words with errors.

    Members
    -------
    step : In(1)
        Strobe: a step is due, from the next cycle on.
    free : In(1)
        The traffic does not read in this cycle.
    reads : Out(1)
        The step reads ``row``.
    looks : Out(1)
        The step read ``row`` in the last cycle, and checks it now. Register.
    row : Out
    correctable : In(1)
        With ``looks``: the row has a word with a single-bit error.
    disturbed : In(1)
        With ``looks``: the traffic wrote a row in the cycle of ``reads`` or in this cycle.
    holds : Out(1)
        In the cycle after ``looks``: the corrected word is written to ``row`` unless the traffic
        writes.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    due : Signal
        A step is due.
    looked : Signal
        A step checked its row in the last cycle undisturbed. Unless a word is corrected, the next
        step takes the next row.
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
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        due, looks = self.due, self.looks
        m.d.comb += [
            self.reads.eq(due & self.free & ~looks & ~self.holds),
            self.clock_enable.eq(Cat(self.step, due, looks, self.looked, self.holds).any()),
        ]
        m.d.sync += [
            due.eq(self.step | (due & ~self.reads)),
            looks.eq(self.reads),
            self.looked.eq(looks & ~self.disturbed),
            self.holds.eq(looks & self.correctable & ~self.disturbed),
        ]
        # `correctable` arrives late, so the row advances one cycle later, by a multiplexer.
        row, following = Signal.like(self.row), Signal.like(self.row)
        m.d.comb += [
            following.eq(Mux(row == self._rows - 1, 0, row + 1)),
            self.row.eq(Mux(self.looked & ~self.holds, following, row)),
        ]
        m.d.sync += row.eq(self.row)
        return m
