"""Tracker: counts the updates of every wavefront tile until the tile is complete."""

from functools import reduce
from operator import and_, or_

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.layouts import Completion, TileUpdates, TrackerInput
from rtl.interface.signatures import ErrorSignature
from rtl.lib.gating import clock_gated
from rtl.lib.injection import InjectSignature
from rtl.lib.round_robin import Merge
from rtl.parameters import T3Parameters

from .bank import TrackerBank
from .front import TrackerFront

__all__ = ["Tracker"]


class Tracker(wiring.Component):
    """Tracker: banks between the channels' events and one stream of complete tiles.

    The tracker takes up to one event per bank and cycle, and gives one completion per cycle, at
    least six cycles after the tile's last event.

    Parameters
    ----------
    p : :class:`T3Parameters`
        Geometry.

    Members
    -------
    issue_acks, ends : In(stream).array(channels)
        See :class:`TrackerFront`.
    o : Out(stream)
        Complete tiles, each once, by round-robin over the banks.
    ways, aborting
        See :class:`TrackerBank`.
    clear : In(contexts)
        See :class:`TrackerBank`. The strobe is ignored if the context is empty or is being cleared,
        so that a context cannot block the others by aborts alone.
    clearing : Out(contexts)
        See :class:`TrackerBank`. While any bit is high, no event is accepted.
    errors : Out(:class:`ErrorSignature`).array(banks)
        Error of each bank.
    corrected : Out(1)
        A bit error of an entry was corrected in this cycle.
    inject : In(:class:`InjectSignature`).array(banks)
    scrub, scrub_corrected
        See :class:`TrackerBank`.
    empty : Out(contexts)
        See :class:`TrackerBank`; covers all banks and the front.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    front : TrackerFront
    banks : list of TrackerBank
    may_change : tuple of str
        Streams whose payload may change before it is taken, as the selected bank changes.
    """

    may_change = ("o",)

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "issue_acks": In(stream.Signature(TileUpdates(p))).array(p.channels),
                "ends": In(stream.Signature(TrackerInput(p))).array(p.channels),
                "o": Out(stream.Signature(Completion(p))),
                "ways": In(p.ways).array(p.contexts),
                "clear": In(p.contexts),
                "aborting": In(p.contexts),
                "clearing": Out(p.contexts),
                "errors": Out(ErrorSignature(p)).array(p.banks),
                "corrected": Out(1),
                "inject": In(InjectSignature()).array(p.banks),
                "scrub": In(1),
                "scrub_corrected": Out(1),
                "empty": Out(p.contexts),
            }
        )
        self.front = TrackerFront(p)
        self.banks = [TrackerBank(p) for _ in range(p.banks)]

    def elaborate(self, platform):
        m = Module()
        p = self._p
        front, merge = self.front, Merge(Completion(p), p.banks)
        m.submodules.front = clock_gated(front)
        # A merge of one stream has no register.
        m.submodules.merge = clock_gated(merge) if merge.pick else merge
        for channel in range(p.channels):
            wiring.connect(m, wiring.flipped(self.issue_acks[channel]), front.issue_acks[channel])
            wiring.connect(m, wiring.flipped(self.ends[channel]), front.ends[channel])
        corrected = Signal(p.banks)
        banks = self.banks
        m.d.comb += [
            self.corrected.eq(corrected.any()),
            self.scrub_corrected.eq(reduce(or_, (bank.scrub_corrected for bank in banks))),
        ]
        for name, parts in (("empty", [front.empty]), ("clearing", [])):
            parts += [getattr(bank, name) for bank in banks]
            join = and_ if name == "empty" else or_
            m.d.comb += getattr(self, name).eq(reduce(join, parts))
        clear = Signal(p.contexts)
        m.d.comb += clear.eq(self.clear & ~self.empty & ~self.clearing)
        for index, bank in enumerate(banks):
            m.submodules[f"bank_{index}"] = clock_gated(bank)
            wiring.connect(m, front.o[index], bank.i)
            wiring.connect(m, bank.o, merge.i[index])
            m.d.comb += front.space[index].eq(bank.space)
            wiring.connect(m, bank.error, wiring.flipped(self.errors[index]))
            wiring.connect(m, wiring.flipped(self.inject[index]), bank.inject)
            m.d.comb += [
                bank.clear.eq(clear),
                bank.aborting.eq(self.aborting),
                corrected[index].eq(bank.corrected),
                bank.scrub.eq(self.scrub),
            ]
            for number in range(p.contexts):
                m.d.comb += bank.ways[number].eq(self.ways[number])
        wiring.connect(m, merge.o, wiring.flipped(self.o))
        return m
