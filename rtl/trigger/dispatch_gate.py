"""Dispatch gate: workgroups of a range wait for slots that another context completes."""

from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import Gate, LaunchProgress, RangeEntry
from rtl.lib.compare import less_than
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["DispatchGate"]


class DispatchGate(wiring.Component):
    """Dispatch gate of the ranges of a launch, in the walk of :class:`RangeLimits`.

    Each range with a gate has the first dispatch index that is not released, and the slot that
    releases the next band of workgroups. A visit releases at most one band, and another walk
    follows. A released workgroup stays released for the launch.

    A context without permission shows nothing. A context that is aborted while the launch is
    pending or running releases nothing more in it.

    Members
    -------
    ranges : In(array of :func:`RangeEntry`)
        Active ranges.
    launch : In(1)
        Strobe: a launch begins.
    aborting : In(1)
        The context is aborted.
    progress : In(array of :func:`LaunchProgress`)
        Progress of each context.
    may_await : In(await_bits)
        Contexts that the context may await.
    aborts : In(await_bits)
        Strobe for each context: it is aborted.
    pending : In(1)
        A launch is pending.
    launched : In(1)
        A launch is running or done.
    turn, chosen : In(ranges)
        Range in the first and in the second step, one-hot; 0 without one.
    changes : Out(1)
        Strobe: another walk is needed. Combinational.
    term : Out(credit_limit_bits)
        Dispatch limit by the gate of the range in the third step alone; all ones if the gate is
        open. Register.
    waits : Out(1)
        A gate of the launch is not known to be open. Combinational.
    releases : Out(1)
        Strobe: a gate releases workgroups. Combinational.
    fails : Out(1)
        Strobe: a gate waits for a context that was aborted; once for each launch. Combinational.
    notes : Out(1)
        A register changes without a walk. Combinational.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    released, slots : Array of Signal
        For each range the first dispatch index that is not released, and the slot that releases
        more.
    open : Signal
        Ranges all of whose workgroups were released, one bit each.
    arrives, passes, cut : Signal
        For the range in the second step: its slot is complete; its launch is complete; its context
        was aborted.
    lost, lost_next : Signal
        Contexts that were aborted since the launch, or the pending launch, was accepted.
    failed : Signal
        An abort was reported in this launch.
    """

    def __init__(self, p: T3Parameters):
        bits = p.credit_limit_bits
        super().__init__(
            {
                "ranges": In(data.ArrayLayout(RangeEntry(p), p.ranges)),
                "progress": In(data.ArrayLayout(LaunchProgress(p), p.contexts)),
                "may_await": In(p.await_bits),
                "aborts": In(p.await_bits),
                "pending": In(1),
                "launch": In(1),
                "aborting": In(1),
                "launched": In(1),
                "turn": In(p.ranges),
                "chosen": In(p.ranges),
                "changes": Out(1),
                "term": Out(bits),
                "waits": Out(1),
                "releases": Out(1),
                "fails": Out(1),
                "notes": Out(1),
            }
        )
        self._gate = Signal(Gate(p))
        self.released = [Signal(bits, name=f"released_{number}") for number in range(p.ranges)]
        self.slots = [Signal(bits, name=f"slot_{number}") for number in range(p.ranges)]
        self.open = Signal(p.ranges)
        self.arrives, self.passes, self.cut = Signal(), Signal(), Signal()
        self.lost, self.lost_next = Signal(p.await_bits), Signal(p.await_bits)
        self.failed = Signal()

    def elaborate(self, platform):
        m = Module()
        gated = Signal(len(self.ranges))
        m.d.comb += [
            gated.eq(Cat(entry.enable & entry.gate.enable for entry in self.ranges)),
            self.waits.eq((gated & ~self.open).any()),
        ]
        aborts = self._note_aborts(m)
        with m.If(self.launch):
            m.d.sync += [self.open.eq(0), self.failed.eq(0)]
            for released, slot, entry in zip(self.released, self.slots, self.ranges, strict=True):
                m.d.sync += [released.eq(entry.first), slot.eq(entry.gate.slot)]
        with m.Elif(self.launched & ~self.aborting):
            m.d.sync += self.lost.eq(self.lost | aborts)
            self._look(m)
            self._release(m, gated)
        return m

    def _note_aborts(self, m: Module) -> Value:
        """Note aborts of contexts for a launch that is pending or begins; return those of contexts
        that the launch awaits.
        """
        strobes, moves, named = (
            Signal.like(self.lost, name=name) for name in ("strobes", "moves", "named")
        )
        of_ranges = [
            Cat(
                entry.enable & entry.gate.enable & (entry.gate.context == context)
                for entry in self.ranges
            ).any()
            for context in range(len(self.lost))
        ]
        m.d.comb += [
            named.eq(Cat(of_ranges)),
            strobes.eq(self.aborts & self.may_await),
            moves.eq(self.may_await & Cat(progress.changes for progress in self.progress)),
            self.changes.eq(((strobes | moves) & named).any() | self.releases),
            self.notes.eq(Mux(self.pending, strobes.any(), self.lost_next.any())),
        ]
        m.d.sync += self.lost_next.eq(Mux(self.pending, self.lost_next | strobes, 0))
        with m.If(self.launch):
            m.d.sync += self.lost.eq(self.lost_next | strobes)
        return strobes & named

    def _look(self, m: Module) -> None:
        """Compare the slot of the range in the first step with its context's progress."""
        gate, slot = self._gate, Signal(len(self.term), name="slot_now")
        context = Signal.like(self.lost, name="context")
        progress, ahead = Signal.like(self.progress[0], name="now"), Signal.like(gate.generation)
        named = Cat(gate.context == number for number in range(len(context)))
        m.d.comb += [
            gate.as_value().eq(one_hot_select(self.turn, [entry.gate for entry in self.ranges])),
            slot.eq(one_hot_select(self.turn, self.slots)),
            context.eq(named & self.may_await),
            progress.as_value().eq(one_hot_select(context, list(self.progress))),
            ahead.eq(progress.generation - gate.generation),
        ]
        with m.If(self.turn.any()):
            m.d.sync += [
                self.arrives.eq(progress.valid & (ahead == 0) & ~less_than(progress.oldest, slot)),
                self.passes.eq(~ahead[-1] & progress.complete.bit_select(ahead[:-1], 1)),
                self.cut.eq((self.lost & context).any()),
            ]

    def _release(self, m: Module, gated: Signal) -> None:
        """Release the next workgroups of the range in the second step."""
        now = self._of_chosen(m)
        most = (1 << len(self.term)) - 1
        inside, closed = Signal(), Signal()
        after, slot_after = Signal(len(self.term) + 1), Signal(len(self.term) + 1)
        m.d.comb += [
            inside.eq(less_than(now.last, now.released)),
            closed.eq((self.chosen & gated).any() & ~inside),
            self.releases.eq(closed & ~self.cut & (self.arrives | self.passes)),
            self.fails.eq(closed & self.cut & ~self.failed),
            after.eq(now.released + now.gate.workgroups),
            slot_after.eq(now.slot + now.gate.slots),
        ]
        all_of_it = self.passes | (now.gate.workgroups == 0) | after[-1]
        with m.If(self.chosen.any()):
            m.d.sync += self.term.eq(Mux(closed, now.released, most))
        with m.If(self.fails):
            m.d.sync += self.failed.eq(1)
        for number, chosen in enumerate(self.chosen):
            with m.If(chosen):
                m.d.sync += self.open[number].eq(inside)
            with m.If(chosen & self.releases):
                m.d.sync += [
                    self.released[number].eq(Mux(all_of_it, most, after)),
                    self.slots[number].eq(Mux(slot_after[-1], most, slot_after)),
                ]

    def _of_chosen(self, m: Module) -> SimpleNamespace:
        """Select the values of the range in the second step."""
        first = self.ranges[0]
        now = SimpleNamespace(
            gate=Signal.like(first.gate, name="chosen_gate"),
            last=Signal.like(first.last, name="last"),
            released=Signal.like(self.term, name="chosen_released"),
            slot=Signal.like(self.term, name="chosen_slot"),
        )
        values = (
            (now.gate.as_value(), [entry.gate for entry in self.ranges]),
            (now.last, [entry.last for entry in self.ranges]),
            (now.released, self.released),
            (now.slot, self.slots),
        )
        m.d.comb += [signal.eq(one_hot_select(self.chosen, of_each)) for signal, of_each in values]
        return now
