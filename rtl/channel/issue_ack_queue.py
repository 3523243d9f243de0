"""Queue of issue acknowledgements that merges updates of a tile into one tracker event."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.layouts import IssueAck, TileUpdates
from rtl.parameters import T3Parameters

__all__ = ["IssueAckQueue"]


class IssueAckQueue(wiring.Component):
    """First-in first-out queue that merges waiting updates of a tile into one event.

    An issue acknowledgement joins the event of its tile if that event waits behind the head and its
    count is not full; otherwise it becomes an event of its own at the end. It can leave in the next
    cycle. ``i.ready`` and all signals of ``o`` are registers, and the head is stable until it is
    taken.

    Parameters
    ----------
    p : :class:`T3Parameters`
        Geometry.
    depth : int
        Events, at least 2.

    Members
    -------
    i : In(stream)
        Issue acknowledgements of updates only; ``access`` is ignored.
    o : Out(stream)
        Issued updates, merged by tile.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    valid : Signal
        Valid bit of each entry.
    entries : Signal
        Events, the head first.

    Raises
    ------
    ValueError
        If ``depth`` is less than 2.
    """

    def __init__(self, p: T3Parameters, *, depth: int):
        if not isinstance(depth, int):
            raise TypeError(f"Depth must be an integer, not {depth!r}")
        if depth < 2:
            raise ValueError(f"Depth must be at least 2, not {depth!r}")
        self._shape = TileUpdates(p)
        self._depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(IssueAck(p))),
                "o": Out(stream.Signature(self._shape)),
                "clock_enable": Out(1),
            }
        )
        # The head is entry 0; valid entries are contiguous.
        self.valid = Signal(depth)
        self.entries = Signal(data.ArrayLayout(self._shape, depth), reset_less=True)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.i.ready.eq(~self.valid[-1]),
            self.o.valid.eq(self.valid[0]),
            self.o.p.eq(self.entries[0]),
        ]
        joins = self._find(m)
        take = Signal()
        push = Signal()
        pop = Signal()
        m.d.comb += [
            take.eq(self.i.valid & self.i.ready),
            push.eq(take & ~joins.any()),
            pop.eq(self.o.valid & self.o.ready),
            self.clock_enable.eq(take | pop),
        ]
        taken, taken_valid = self._put(m, push, take, joins)
        with m.If(take | pop):
            m.d.sync += [self.entries.eq(taken), self.valid.eq(taken_valid)]
        with m.If(pop):
            m.d.sync += self.valid.eq(taken_valid >> 1)
            for index in range(self._depth - 1):
                m.d.sync += self.entries[index].eq(taken[index + 1])
        return m

    def _find(self, m: Module) -> Signal:
        """Find the entry that the issue acknowledgement joins, one-hot."""
        issue_ack = self.i.p
        joins = Signal(self._depth)
        for index in range(1, self._depth):
            entry = self.entries[index]
            m.d.comb += joins[index].eq(
                self.valid[index]
                & (entry.owner == issue_ack.owner)
                & (entry.dispatch_index == issue_ack.dispatch_index)
                & (entry.wavefront == issue_ack.wavefront)
                & ~entry.count.all()
            )
        return joins

    def _put(
        self, m: Module, push: Signal, take: Signal, joins: Signal
    ) -> tuple[data.View, Signal]:
        """Compute the entries with the issue acknowledgement, before the head leaves."""
        issue_ack, valid = self.i.p, self.valid
        taken = Signal.like(self.entries)
        taken_valid = Signal(self._depth)
        m.d.comb += [taken.eq(self.entries), taken_valid.eq(valid)]
        with m.If(push):
            m.d.comb += taken_valid.eq((valid << 1) | 1)
        for index in range(self._depth):
            with m.If(~valid[index]):
                m.d.comb += [
                    taken[index].atom.eq(issue_ack.atom),
                    taken[index].owner.eq(issue_ack.owner),
                    taken[index].dispatch_index.eq(issue_ack.dispatch_index),
                    taken[index].wavefront.eq(issue_ack.wavefront),
                    taken[index].count.eq(1),
                ]
            with m.Elif(take & joins[index]):
                entry = self.entries[index]
                m.d.comb += [
                    taken[index].count.eq(entry.count + 1),
                    taken[index].atom.eq(
                        Mux(issue_ack.atom < entry.atom, issue_ack.atom, entry.atom)
                    ),
                ]
        return taken, taken_valid
