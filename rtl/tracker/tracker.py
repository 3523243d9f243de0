# amaranth: UnusedElaboratable=no
"""The tracker: counts the updates of every wavefront tile until the tile is complete."""

from functools import reduce
from operator import and_, or_

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.layouts import Completion, TileUpdates, TrackerInput
from rtl.interface.signatures import ErrorSignature
from rtl.lib.injection import InjectSignature
from rtl.lib.round_robin import Merge
from rtl.lib.sleep import may_sleep
from rtl.parameters import T3Parameters

from .bank import TrackerBank
from .front import TrackerFront

__all__ = ["Tracker"]


class Tracker(wiring.Component):
    """All banks between the channels' events and one stream of complete tiles.

    Takes up to one event per bank and cycle, and gives one completion per cycle, six cycles after
    the tile's last event at the earliest.

    Parameters
    ----------
    p : :class:`T3Parameters`
        Geometry.

    Members
    -------
    issue_acks, ends : In(stream).array(channels)
        See :class:`TrackerFront`.
    o : Out(stream)
        Complete tiles, each once; the banks take turns.
    updates_per_atom, ways, aborting
        See :class:`TrackerBank`.
    clear : In(contexts)
        Likewise. Of a context of which there is nothing to forget, or which is being forgotten
        already, it does nothing: so no context holds up the others by aborts alone.
    clearing : Out(contexts)
        With any, nothing is taken.
    errors : Out(:class:`ErrorSignature`).array(banks)
        Of every bank.
    corrected : Out(1)
        In this cycle, a wrong bit of an entry was corrected.
    inject : In(:class:`InjectSignature`).array(banks)
    patrol, patrolled
        See :class:`TrackerBank`.
    empty : Out(contexts)
        See :class:`TrackerBank`; of all banks, and of the front.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    front : TrackerFront
    banks : list of TrackerBank
    may_change : tuple of str
        Streams whose offer may change until it is taken: with the bank whose turn it is.
    """

    may_change = ("o",)

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "issue_acks": In(stream.Signature(TileUpdates(p))).array(p.channels),
                "ends": In(stream.Signature(TrackerInput(p))).array(p.channels),
                "o": Out(stream.Signature(Completion(p))),
                "updates_per_atom": In(2).array(p.contexts),
                "ways": In(p.ways).array(p.contexts),
                "clear": In(p.contexts),
                "aborting": In(p.contexts),
                "clearing": Out(p.contexts),
                "errors": Out(ErrorSignature(p)).array(p.banks),
                "corrected": Out(1),
                "inject": In(InjectSignature()).array(p.banks),
                "patrol": In(1),
                "patrolled": Out(1),
                "empty": Out(p.contexts),
            }
        )
        self.front = TrackerFront(p)
        self.banks = [TrackerBank(p) for _ in range(p.banks)]

    def elaborate(self, platform):
        m = Module()
        p = self._p
        front, merge = self.front, Merge(Completion(p), p.banks)
        m.submodules.front = may_sleep(front, platform)
        # Of one stream it has no register.
        m.submodules.merge = may_sleep(merge, platform) if merge.pick else merge
        for channel in range(p.channels):
            wiring.connect(m, wiring.flipped(self.issue_acks[channel]), front.issue_acks[channel])
            wiring.connect(m, wiring.flipped(self.ends[channel]), front.ends[channel])
        corrected = Signal(p.banks)
        banks = self.banks
        m.d.comb += [
            self.corrected.eq(corrected.any()),
            self.patrolled.eq(reduce(or_, (bank.patrolled for bank in banks))),
        ]
        for name, parts in (("empty", [front.empty]), ("clearing", [])):
            parts += [getattr(bank, name) for bank in banks]
            join = and_ if name == "empty" else or_
            m.d.comb += getattr(self, name).eq(reduce(join, parts))
        clear = Signal(p.contexts)
        m.d.comb += clear.eq(self.clear & ~self.empty & ~self.clearing)
        for index, bank in enumerate(banks):
            m.submodules[f"bank_{index}"] = may_sleep(bank, platform)
            wiring.connect(m, front.o[index], bank.i)
            wiring.connect(m, bank.o, merge.i[index])
            m.d.comb += front.room[index].eq(bank.room)
            wiring.connect(m, bank.error, wiring.flipped(self.errors[index]))
            wiring.connect(m, wiring.flipped(self.inject[index]), bank.inject)
            m.d.comb += [
                bank.clear.eq(clear),
                bank.aborting.eq(self.aborting),
                corrected[index].eq(bank.corrected),
                bank.patrol.eq(self.patrol),
            ]
            for number in range(p.contexts):
                m.d.comb += [
                    bank.updates_per_atom[number].eq(self.updates_per_atom[number]),
                    bank.ways[number].eq(self.ways[number]),
                ]
        wiring.connect(m, merge.o, wiring.flipped(self.o))
        return m
