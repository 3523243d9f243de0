# amaranth: UnusedElaboratable=no
"""The tracker's front: events of all channels, distributed over the banks."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.layouts import TileUpdates, TrackerInput
from rtl.lib.round_robin import Merge2, RoundRobinPick
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["TrackerFront"]


class _Candidates(wiring.Component):
    """Queue of two events, in which the one that was taken can be read for one cycle more.

    Like a :class:`Queue`, ``i.ready`` and ``bank`` do not depend on an input. ``bank`` has one bit
    for each bank, and says where the first event belongs; without an event it is 0. ``taken`` is
    the event that left in the last cycle, so it can be moved when it is known where to. ``waits``
    has one bit for each context: an event of it is here.

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    slots : list of Signal
        The events, in turns.
    valid, full : Signal
        There is an event; there are two.
    head, tail : Signal
        Slot of the first event, and slot that is written next.
    last : Signal
        Slot of ``taken``.
    next_bank : Signal
        The second event's ``bank``.
    """

    def __init__(self, p: T3Parameters):
        shape = TrackerInput(p)
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "i_bank": In(p.banks),
                "bank": Out(p.banks),
                "waits": Out(p.contexts),
                "take": In(1),
                "taken": Out(shape),
            }
        )
        self.slots = [Signal(shape, name=f"slot_{index}", reset_less=True) for index in range(2)]
        self.valid = Signal()
        self.full = Signal()
        self.head = Signal()
        self.tail = Signal()
        self.last = Signal()
        self.next_bank = Signal(p.banks)
        self._contexts = p.contexts

    def elaborate(self, platform):
        m = Module()
        slots, valid, full, head, tail = self.slots, self.valid, self.full, self.head, self.tail
        push = self.i.valid & self.i.ready
        m.d.comb += [self.i.ready.eq(~full), self.taken.eq(Mux(self.last, slots[1], slots[0]))]
        m.d.sync += [
            self.last.eq(head),
            valid.eq(push | full | (valid & ~self.take)),
            full.eq((full | (valid & push)) & ~self.take),
            head.eq(head ^ self.take),
            tail.eq(tail ^ push),
        ]
        for index, slot in enumerate(slots):
            # The other slot is the one that may still be read: it is written at the earliest when
            # that is over.
            with m.If(push & (tail == index)):
                m.d.sync += slot.eq(self.i.p)
        first, second = (Mux(head ^ other, slots[1].owner, slots[0].owner) for other in (0, 1))
        for number in range(self._contexts):
            m.d.comb += self.waits[number].eq(
                (valid & (first == number)) | (full & (second == number))
            )
        # Decoded and in order, because the choice among the channels is long enough without that.
        with m.If(push):
            m.d.sync += self.next_bank.eq(self.i_bank)
        with m.If(self.take | ~valid):
            m.d.sync += self.bank.eq(Mux(full, self.next_bank, Mux(push, self.i_bank, 0)))
        return m


class TrackerFront(wiring.Component):
    """Gives every bank one event per cycle, fairly over the channels.

    A channel's updates and end-of-tile markers take turns. The tile's dispatch index and wavefront
    decide about the bank, so that tiles of one workgroup lie in different ones; each bank that has
    room chooses among the channels in turn. An event is at its bank two cycles after it came, at
    the earliest.

    Parameters
    ----------
    p : :class:`T3Parameters`
        ``channels`` and ``banks`` give the number of inputs and outputs.

    Members
    -------
    issue_acks, ends : In(stream).array(channels)
        Issued updates, and end-of-tile markers. ``ready`` depends on the other one's ``valid``.
    room : In(banks)
        Banks that an event may be chosen for in this cycle.
    o : Out(stream).array(banks), always ready
        In the cycle after the choice.
    empty : Out(contexts)
        No event of the context waits to be chosen.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    candidates : list of _Candidates
        Each channel's events that a bank may choose.
    picks : list of RoundRobinPick
        Each bank's choice.
    grants : list of Signal
        Each bank's chosen channel in this cycle, one-hot.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "issue_acks": In(stream.Signature(TileUpdates(p))).array(p.channels),
                "ends": In(stream.Signature(TrackerInput(p))).array(p.channels),
                "room": In(p.banks),
                "o": Out(stream.Signature(TrackerInput(p), always_ready=True)).array(p.banks),
                "empty": Out(p.contexts),
                "awake": Out(1),
            }
        )
        self.candidates = [_Candidates(p) for _ in range(p.channels)]
        self.picks = [RoundRobinPick(p.channels) for _ in range(p.banks)]
        self.grants = [Signal(p.channels, name=f"grants_{bank}") for bank in range(p.banks)]

    def _bank_of(self, event):
        """A wavefront's lowest bit turns the bank's highest: away from the next dispatch
        indices' tiles."""
        bits = (self._p.banks - 1).bit_length()
        turn = Cat(Const(0, bits), event.wavefront[::-1])[self._p.wavefront_bits :]
        return (event.dispatch_index ^ turn)[:bits]

    def elaborate(self, platform):
        m = Module()
        for channel in range(self._p.channels):
            self._merge(m, channel)
        for bank in range(self._p.banks):
            self._choose(m, bank)
        comes = Cat(queue.i.valid & queue.i.ready for queue in self.candidates)
        goes = Cat(pick.take & pick.requests.any() for pick in self.picks)
        # A cycle after a choice: the chosen one ends, and `last` follows.
        went = Cat(out.valid for out in self.o)
        m.d.comb += self.awake.eq(Cat(comes, goes, went).any())
        for channel, queue in enumerate(self.candidates):
            m.d.comb += queue.take.eq(Cat(grants[channel] for grants in self.grants).any())
        for number in range(self._p.contexts):
            waits = (queue.waits[number] for queue in self.candidates)
            m.d.comb += self.empty[number].eq(~Cat(waits).any())
        return m

    def _merge(self, m: Module, channel: int) -> None:
        """A channel's updates and end-of-tile markers become candidates, with their bank."""
        issue_ack, end = self.issue_acks[channel], self.ends[channel]
        m.submodules[f"merge_{channel}"] = merge = Merge2(TrackerInput(self._p))
        m.submodules[f"candidates_{channel}"] = queue = self.candidates[channel]
        m.d.comb += [
            merge.a.valid.eq(issue_ack.valid),
            merge.a.p.owner.eq(issue_ack.p.owner),
            merge.a.p.dispatch_index.eq(issue_ack.p.dispatch_index),
            merge.a.p.wavefront.eq(issue_ack.p.wavefront),
            merge.a.p.atom.eq(issue_ack.p.atom),
            merge.a.p.count.eq(issue_ack.p.count),
            issue_ack.ready.eq(merge.a.ready),
        ]
        wiring.connect(m, merge.b, wiring.flipped(end))
        wiring.connect(m, merge.o, queue.i)
        m.d.comb += queue.i_bank.eq(1 << self._bank_of(merge.o.p))

    def _choose(self, m: Module, bank: int) -> None:
        """A bank that has room chooses a channel, whose event it gets in the next cycle."""
        out, grants = self.o[bank], self.grants[bank]
        m.submodules[f"pick_{bank}"] = pick = self.picks[bank]
        chosen = Signal(self._p.channels, name=f"chosen_{bank}")
        m.d.comb += [
            pick.requests.eq(Cat(queue.bank[bank] for queue in self.candidates)),
            pick.take.eq(self.room[bank]),
            out.valid.eq(chosen.any()),
            out.p.eq(one_hot_select(chosen, (queue.taken for queue in self.candidates))),
            grants.eq(Mux(self.room[bank], pick.grant, 0)),
        ]
        m.d.sync += chosen.eq(grants)
