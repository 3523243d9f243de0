"""Walk over all sets of a tracker bank that clears the tiles of contexts."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["TableWalk"]


class TableWalk(wiring.Component):
    """Sequencer of a clear: generates the sets to read and to clear.

    A walk has exclusive use of the table: it begins when no event is in a stage, and no event
    arrives until its end. A set is read in one cycle and cleared two cycles later; the next set
    follows one cycle behind.

    Parameters
    ----------
    contexts, rows : int
        Number of contexts, and of sets.

    Members
    -------
    clear : In(contexts)
        Strobes: include these contexts in the next walk.
    busy : In(1)
        No walk may begin.
    pending : Out(contexts)
        Contexts of the next walk. Register.
    forgetting : Out(contexts)
        Contexts of the current walk. Register.
    reads, clears : Out(1)
        A set is read, and a set is cleared, in this cycle. Registers.
    row, row_cleared : Out
        Set to read, and set to clear. Registers.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    checks, row_checked : Signal
        Valid bit and set of the cycle between read and clear.
    """

    def __init__(self, *, contexts: int, rows: int):
        self._rows = rows
        row = range(max(rows, 2))
        super().__init__(
            {
                "clear": In(contexts),
                "busy": In(1),
                "pending": Out(contexts),
                "forgetting": Out(contexts),
                "reads": Out(1),
                "row": Out(row),
                "clears": Out(1),
                "row_cleared": Out(row),
                "clock_enable": Out(1),
            }
        )
        self.checks = Signal()
        self.row_checked = Signal(row)

    def elaborate(self, platform):
        m = Module()
        starts, ends = Signal(), Signal()
        m.d.comb += [
            starts.eq(self.pending.any() & ~self.forgetting.any() & ~self.busy),
            ends.eq(self.clears & ~self.checks),
            self.clock_enable.eq(
                Cat(
                    *(self.clear, self.pending, self.forgetting),
                    *(self.reads, self.checks, self.clears),
                ).any()
            ),
        ]
        m.d.sync += [
            self.pending.eq(Mux(starts, 0, self.pending) | self.clear),
            self.reads.eq(starts | (self.reads & (self.row != self._rows - 1))),
            self.checks.eq(self.reads),
            self.clears.eq(self.checks),
        ]
        with m.If(self.reads):
            m.d.sync += [self.row.eq(self.row + 1), self.row_checked.eq(self.row)]
        with m.If(self.checks):
            m.d.sync += self.row_cleared.eq(self.row_checked)
        with m.If(starts):
            m.d.sync += [self.forgetting.eq(self.pending), self.row.eq(0)]
        with m.Elif(ends):
            m.d.sync += self.forgetting.eq(0)
        return m
