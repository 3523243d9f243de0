"""Front of the tracker: distributes the events of all channels over the banks."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.layouts import TileUpdates, TrackerInput
from rtl.lib.round_robin import Merge2, RoundRobinPick
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["TrackerFront"]


class _Candidates(wiring.Component):
    """Queue of two events in which a taken event can be read for one more cycle.

    As in a :class:`Queue`, ``i.ready`` and ``bank`` do not depend on an input. ``bank`` is the
    one-hot bank of the first event; without an event it is 0. ``taken`` is the event that left in
    the last cycle, so that it can be routed after its bank is known. ``waits`` has one bit for each
    context with an event in the queue.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    slots : list of Signal
        Slots of the events, used alternately.
    valid, full : Signal
        The queue holds an event; the queue holds two events.
    head, tail : Signal
        Slot of the first event, and slot to write next.
    last : Signal
        Slot of ``taken``.
    next_bank : Signal
        One-hot bank of the second event.
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
            # The slot of `taken` may still be read; it is written one cycle later at the earliest.
            with m.If(push & (tail == index)):
                m.d.sync += slot.eq(self.i.p)
        first, second = (Mux(head ^ other, slots[1].owner, slots[0].owner) for other in (0, 1))
        for number in range(self._contexts):
            m.d.comb += self.waits[number].eq(
                (valid & (first == number)) | (full & (second == number))
            )
        # The bank is registered in decoded form, because the selection among the channels is long.
        with m.If(push):
            m.d.sync += self.next_bank.eq(self.i_bank)
        with m.If(self.take | ~valid):
            m.d.sync += self.bank.eq(Mux(full, self.next_bank, Mux(push, self.i_bank, 0)))
        return m


class TrackerFront(wiring.Component):
    """Tracker front: gives every bank one event per cycle, with round-robin over the channels.

    A channel's updates and end-of-tile markers alternate. The tile's dispatch index and wavefront
    select the bank, so that tiles of one workgroup are in different banks. Each bank with space
    selects among the channels by round-robin. An event reaches its bank at least two cycles after
    its arrival.

    Parameters
    ----------
    p : :class:`T3Parameters`
        ``channels`` and ``banks`` give the number of inputs and outputs.

    Members
    -------
    issue_acks, ends : In(stream).array(channels)
        Issued updates and end-of-tile markers. ``ready`` of one depends on ``valid`` of the other.
    space : In(banks)
        Banks for which an event may be selected in this cycle.
    o : Out(stream).array(banks), always ready
        Selected events, in the cycle after the selection.
    empty : Out(contexts)
        No event of the context waits for selection.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    candidates : list of _Candidates
        Events of each channel that a bank may select.
    picks : list of RoundRobinPick
        Arbiter of each bank.
    grants : list of Signal
        Selected channel of each bank in this cycle, one-hot.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "issue_acks": In(stream.Signature(TileUpdates(p))).array(p.channels),
                "ends": In(stream.Signature(TrackerInput(p))).array(p.channels),
                "space": In(p.banks),
                "o": Out(stream.Signature(TrackerInput(p), always_ready=True)).array(p.banks),
                "empty": Out(p.contexts),
                "clock_enable": Out(1),
            }
        )
        self.candidates = [_Candidates(p) for _ in range(p.channels)]
        self.picks = [RoundRobinPick(p.channels) for _ in range(p.banks)]
        self.grants = [Signal(p.channels, name=f"grants_{bank}") for bank in range(p.banks)]

    def _bank_of(self, event):
        """Compute the bank of an event. The lowest bit of the wavefront flips the highest bit of
        the bank, away from the tiles of the next dispatch indices."""
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
        # One cycle after a selection `chosen` falls, and `last` is updated.
        went = Cat(out.valid for out in self.o)
        m.d.comb += self.clock_enable.eq(Cat(comes, goes, went).any())
        for channel, queue in enumerate(self.candidates):
            m.d.comb += queue.take.eq(Cat(grants[channel] for grants in self.grants).any())
        for number in range(self._p.contexts):
            waits = (queue.waits[number] for queue in self.candidates)
            m.d.comb += self.empty[number].eq(~Cat(waits).any())
        return m

    def _merge(self, m: Module, channel: int) -> None:
        """Queue a channel's updates and end-of-tile markers as candidates, with their bank."""
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
        """Let a bank with space select a channel, whose event it receives in the next cycle."""
        out, grants = self.o[bank], self.grants[bank]
        m.submodules[f"pick_{bank}"] = pick = self.picks[bank]
        chosen = Signal(self._p.channels, name=f"chosen_{bank}")
        m.d.comb += [
            pick.requests.eq(Cat(queue.bank[bank] for queue in self.candidates)),
            pick.take.eq(self.space[bank]),
            out.valid.eq(chosen.any()),
            out.p.eq(one_hot_select(chosen, (queue.taken for queue in self.candidates))),
            grants.eq(Mux(self.space[bank], pick.grant, 0)),
        ]
        m.d.sync += chosen.eq(grants)
