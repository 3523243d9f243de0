"""Limits of the ranges: dispatch indices whose tiles the receivers admit, and that may be
dispatched."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import LaunchProgress, RangeEntry
from rtl.interface.encodings import Action
from rtl.lib.compare import less_than
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

from .dispatch_gate import DispatchGate

__all__ = ["RangeLimits"]


class RangeLimits(wiring.Component):
    """Range limits: walks over the ranges of a launch, one per cycle, in three steps.

    The limit of a range that sends is the lowest bound that its peers admit, minus the range's slot
    offset. The dispatch limit is the first dispatch index of a range that neither the range's
    limit, where its stores leave, nor the context's own credit limit admits yet, or whose gate is
    closed. An index outside all ranges needs no credit.

    Within a launch a bound only grows, so an old one is safe. A launch and an abort set all limits
    to 0, and a walk begins in the cycle after a launch. A walk follows another one if an input
    changed since the other one began; else the unit stops.

    Members
    -------
    ranges : In(array of :func:`RangeEntry`)
        Ranges of the launch; they change only with a launch.
    admitted : In(array of credit_limit_bits)
        Slots that each peer admits.
    credit_limit : In(credit_limit_bits)
        Credit limit of the context.
    changes : In(1)
        Strobe: ``admitted`` or ``credit_limit`` has another value in the next cycle.
    launch : In(1)
        Strobe: a launch begins.
    aborting : In(1)
        The launch is aborted.
    progress, may_await, aborts, pending
        See :class:`~rtl.trigger.dispatch_gate.DispatchGate`; without bits if no other context
        exists, like ``waits``, ``releases`` and ``fails``.
    limits : Out(array of credit_limit_bits)
        For each range: the peers admit the tiles of smaller dispatch indices. All ones if the range
        sends nothing. Registers.
    dispatch_limit : Out(credit_limit_bits)
        Workgroups of smaller dispatch indices may be dispatched. Register.
    waits : Out(1)
        A gate of the running launch is not known to be open. Combinational.
    releases, fails : Out(1)
        See :class:`~rtl.trigger.dispatch_gate.DispatchGate`.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    launched : Signal
        A launch is running or done.
    fresh : Signal
        An input has changed since the last walk began.
    turn, chosen, merged : Signal
        Range in the first, second and third step, one-hot; 0 without one.
    least : Signal
        Lowest bound of the peers of the range ``chosen``; all ones without a peer.
    term : Signal
        Dispatch limit by the range ``merged`` alone.
    lowest : Signal
        Lowest term of the walk so far.
    gate : DispatchGate or None
        Gate of the ranges; None if no other context exists.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        bits, there = p.credit_limit_bits, int(p.contexts > 1)
        super().__init__(
            {
                "ranges": In(data.ArrayLayout(RangeEntry(p), p.ranges)),
                "progress": In(data.ArrayLayout(LaunchProgress(p), p.contexts)),
                "may_await": In(p.await_bits),
                "aborts": In(p.await_bits),
                "pending": In(there),
                "admitted": In(data.ArrayLayout(bits, p.peers)),
                "credit_limit": In(bits),
                "changes": In(1),
                "launch": In(1),
                "aborting": In(1),
                "limits": Out(data.ArrayLayout(bits, p.ranges)),
                "dispatch_limit": Out(bits),
                "waits": Out(there),
                "releases": Out(there),
                "fails": Out(there),
                "clock_enable": Out(1),
            }
        )
        self.gate = DispatchGate(p) if there else None
        self._changes = Signal()
        self.launched, self.fresh = Signal(), Signal()
        self.turn, self.chosen, self.merged = (
            Signal(p.ranges, name=name) for name in ("turn", "chosen", "merged")
        )
        self.least, self.term, self.lowest = (
            Signal(bits, name=name) for name in ("least", "term", "lowest")
        )

    def elaborate(self, platform):
        m = Module()
        turns = (self.turn, self.chosen, self.merged)
        ends = self.launch | (self.aborting & self.launched)
        works = self.launched & Cat(self._changes, *turns).any()
        m.d.comb += self._changes.eq(self.changes)
        m.d.comb += self.clock_enable.eq(ends | works)
        if self.gate is not None:
            self._connect_gate(m, self.gate)
            m.d.comb += self._changes.eq(self.changes | self.gate.changes)
            m.d.comb += self.clock_enable.eq(ends | works | self.gate.notes)
        with m.If(self.launch | self.aborting):
            m.d.sync += [
                self.launched.eq(self.launch),
                self.fresh.eq(0),
                self.turn.eq(self.launch),
                self.chosen.eq(0),
                self.merged.eq(0),
                self.limits.eq(0),
                self.dispatch_limit.eq(0),
            ]
        with m.Elif(self.launched):
            self._walk(m)
            self._find_least(m)
            self._limit(m)
            self._merge(m)
        return m

    def _connect_gate(self, m: Module, gate: DispatchGate) -> None:
        m.submodules.gate = gate
        shared = ("ranges", "progress", "may_await", "aborts", "pending", "launch", "aborting")
        m.d.comb += [getattr(gate, name).eq(getattr(self, name)) for name in shared]
        m.d.comb += [
            gate.launched.eq(self.launched),
            gate.turn.eq(self.turn),
            gate.chosen.eq(self.chosen),
            self.waits.eq(self.launched & gate.waits),
            self.releases.eq(gate.releases),
            self.fails.eq(gate.fails),
        ]

    def _walk(self, m: Module) -> None:
        """Advance to the next range, or begin another walk if an input has changed."""
        fresh = self._changes | (self.fresh & ~self.turn[0])
        earlier = self.turn[:-1]
        goes_on = earlier.any() if len(earlier) else Const(0, 1)
        m.d.sync += [
            self.fresh.eq(fresh),
            self.turn.eq(Cat(fresh & ~goes_on, earlier)),
            self.chosen.eq(self.turn),
            self.merged.eq(self.chosen),
        ]

    def _find_least(self, m: Module) -> None:
        """Find the lowest bound of a range's peers."""
        peers = Signal(len(self.admitted))
        m.d.comb += peers.eq(one_hot_select(self.turn, [entry.peers for entry in self.ranges]))
        bounds = []
        for admitted, peer in zip(self.admitted, peers, strict=True):
            bound = Signal.like(self.least, name="bound_of_peer")
            m.d.comb += bound.eq(Mux(peer, admitted, (1 << len(bound)) - 1))
            bounds.append(bound)
        with m.If(self.turn.any()):
            m.d.sync += self.least.eq(self._lowest(m, bounds))

    def _lowest(self, m: Module, values: list[Value]) -> Value:
        """Compute the minimum by a tree."""
        if len(values) == 1:
            return values[0]
        half = len(values) // 2
        a, b = self._lowest(m, values[:half]), self._lowest(m, values[half:])
        lower = Signal(len(self.least), name="lower")
        m.d.comb += lower.eq(Mux(less_than(a, b), a, b))
        return lower

    def _limit(self, m: Module) -> None:
        """Compute the limit of a range, and the dispatch limit by the range alone."""
        bits, ranges = len(self.least), self.ranges
        most = (1 << bits) - 1
        offset, difference = Signal(signed(bits)), Signal(signed(bits + 2))
        limit, bound, first, last = (
            Signal(bits, name=name) for name in ("limit", "bound", "first", "last")
        )
        remote = self._any([entry.action == Action.REMOTE for entry in ranges])
        m.d.comb += [
            offset.eq(one_hot_select(self.chosen, [entry.slot_offset for entry in ranges])),
            first.eq(one_hot_select(self.chosen, [entry.first for entry in ranges])),
            last.eq(one_hot_select(self.chosen, [entry.last for entry in ranges])),
            difference.eq(self.least - offset),
            bound.eq(Mux(remote, limit, self.credit_limit)),
        ]
        # A peer that admits nothing gets nothing, whatever the offset is.
        with m.If(~self.least.any() | difference[-1]):
            m.d.comb += limit.eq(0)
        with m.Elif(self.least.all() | difference[bits]):
            m.d.comb += limit.eq(most)
        with m.Else():
            m.d.comb += limit.eq(difference)
        for chosen, register, entry in zip(self.chosen, self.limits, ranges, strict=True):
            sends = (entry.action == Action.REMOTE) | (entry.action == Action.DMA)
            with m.If(chosen):
                m.d.sync += register.eq(Mux(sends, limit, most))
        mapped = self._any([entry.enable & (entry.action != Action.NONE) for entry in ranges])
        waits = mapped & ~less_than(last, bound)
        from_first = Mux(less_than(bound, first), first, bound)
        with m.If(self.chosen.any()):
            m.d.sync += self.term.eq(Mux(waits, from_first, most))

    def _any(self, properties: list[Value]) -> Value:
        """Test whether the range in the second step has a property."""
        return (self.chosen & Cat(properties)).any()

    def _merge(self, m: Module) -> None:
        """Take the minimum of the ranges' dispatch limits; the last range completes it."""
        lowest, first = Signal.like(self.lowest, name="lowest_now"), self.merged[0]
        lower = first | less_than(self.term, self.lowest)
        m.d.comb += lowest.eq(Mux(lower, self.term, self.lowest))
        if self.gate is not None:
            gate = self.gate.term
            # All three comparisons are side by side.
            lower = first | less_than(gate, self.lowest)
            with m.If(lower & less_than(gate, self.term)):
                m.d.comb += lowest.eq(gate)
        with m.If(self.merged.any()):
            m.d.sync += self.lowest.eq(lowest)
        with m.If(self.merged[-1]):
            m.d.sync += self.dispatch_limit.eq(lowest)
