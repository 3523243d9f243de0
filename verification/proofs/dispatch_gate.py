"""Proofs of the dispatch gates: they never release early, and do not stay closed."""

from functools import reduce
from types import SimpleNamespace

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.interface.encodings import Action
from rtl.parameters import T3Parameters
from rtl.trigger.dispatch_gate import DispatchGate
from rtl.trigger.range_limits import RangeLimits

from .invariant import invariant
from .proof import Proof
from .range_limits import relate_rest, relate_steps
from .streams import free

__all__ = ["PROOFS"]

_P = T3Parameters(contexts=2, sets=1, ways=2, workgroup_bits=3, credit_window=2, ranges=2, peers=1)
_BITS = _P.credit_limit_bits
_MOST = (1 << _BITS) - 1
_GEOMETRY = "dispatch indices of 3 bits, 2 ranges, 2 contexts"
_REASON = "the numbers are only added and compared, and each context has the same gate"


def _limits_with(limits: type, gate: type) -> RangeLimits:
    """Make range limits with this gate."""
    dut = limits(_P)
    dut.gate = gate(_P)
    return dut


def _shows(dut, number: Value, slot: Value) -> tuple[Value, Value]:
    """Return whether the context that a range awaits shows that a slot is complete: in the awaited
    launch itself, or since the launch has ended."""
    arrived, passed = Value.cast(0), Value.cast(0)
    gate = dut.ranges[number].gate
    for context, progress in enumerate(dut.progress):
        here = (gate.context == context) & dut.may_await[context]
        ahead = (progress.generation - gate.generation)[:4]
        arrived |= here & progress.valid & (ahead == 0) & (progress.oldest >= slot)
        passed |= here & (ahead < 8) & (progress.complete >> ahead[:3])[0]
    return arrived, passed


def _free_gates(m: Module, dut) -> None:
    """Drive the inputs of the gates arbitrarily; the ranges are arbitrary constants."""
    free(m, dut.launch, dut.aborting, dut.pending, dut.aborts, dut.progress)
    m.d.comb += dut.ranges.eq(AnyConst(len(Value.cast(dut.ranges))))


def _saturated(m: Module, first: Value, step: Value, count: Value, name: str) -> Signal:
    """Compute ``first + count * step``, at most all ones."""
    exact, result = Signal(_BITS + 8, name=f"exact_{name}"), Signal(_BITS, name=name)
    m.d.comb += [
        exact.eq(first + count * step),
        result.eq(Mux(exact > _MOST, _MOST, exact)),
    ]
    return result


class EarlyHarness(Elaboratable):
    """Harness that observes one dispatch index of a range with a gate, and remembers whether its
    slot was ever shown since the launch began.

    All inputs are arbitrary, also the permissions: progress may jump, and generations may repeat.
    """

    def __init__(self, limits: type = RangeLimits, gate: type = DispatchGate):
        self._blocks = limits, gate

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = _limits_with(*self._blocks)
        _free_gates(m, dut)
        free(m, dut.admitted, dut.credit_limit, dut.changes, dut.may_await)
        number, index, band = Signal(range(_P.ranges)), Signal(3), Signal(4)
        m.d.comb += [one.eq(AnyConst(len(one))) for one in (number, index, band)]
        seen = self._observe(m, dut, number, index, band)
        self._assert(m, dut, number, index, seen)
        relate_steps(m, dut)
        relate_rest(m, dut)
        return m

    def _observe(self, m: Module, dut, number, index, band) -> SimpleNamespace:
        """Follow the bands of the observed range, and whether the slot of the index was shown."""
        entry = dut.ranges[number]
        gate = entry.gate
        start = _saturated(m, entry.first, gate.workgroups, band, "start")
        m.d.comb += [
            Assume(entry.enable & gate.enable & (entry.first <= index) & (index <= entry.last)),
            # The band of the index: the only one if bands have no workgroups.
            Assume(Mux(gate.workgroups == 0, band == 0, start <= index)),
            Assume((gate.workgroups == 0) | (index < start + gate.workgroups)),
        ]
        slot = _saturated(m, gate.slot, gate.slots, band, "slot")
        self._assert_lost(m, dut, number, gate.context)
        shown, bands, whole = Signal(), Signal(4), Signal()
        arrived, passed = _shows(dut, number, slot)
        releases = dut.gate.releases & dut.chosen.bit_select(number, 1)
        with m.If(dut.launch | dut.aborting):
            m.d.sync += [shown.eq(0), bands.eq(0), whole.eq(0)]
        with m.Else():
            m.d.sync += shown.eq(shown | arrived | passed)
            with m.If(releases):
                m.d.sync += [
                    bands.eq(bands + 1),
                    whole.eq(whole | dut.gate.passes | (gate.workgroups == 0)),
                ]
        return SimpleNamespace(
            shown=shown, bands=bands, whole=whole, entry=entry, band=band, slot=slot
        )

    def _assert_lost(self, m: Module, dut, number: Value, context: Value) -> None:
        """Assert that nothing is released two cycles after an abort of the awaited context."""

        def of(mask: Value) -> Value:
            return (context < _P.contexts) & mask.bit_select(context[0], 1)

        strobe, lost, lost_next, late = (
            Signal(name=name) for name in ("strobe", "lost", "lost_next", "late")
        )
        releases = dut.gate.releases & dut.chosen.bit_select(number, 1)
        m.d.comb += strobe.eq(of(dut.aborts & dut.may_await))
        m.d.sync += [lost_next.eq(dut.pending & (lost_next | strobe)), late.eq(lost)]
        with m.If(dut.launch):
            m.d.sync += lost.eq(lost_next | strobe)
        with m.Elif(dut.launched & ~dut.aborting):
            m.d.sync += lost.eq(lost | strobe)
        m.d.comb += [
            Assert(~(releases & lost & late), "released after an abort of the awaited context"),
            invariant(of(dut.gate.lost_next) == lost_next, "lost_next"),
            invariant(of(dut.gate.lost) == lost, "lost"),
            invariant(
                ~(dut.chosen.bit_select(number, 1) & lost & late)
                | dut.gate.cut
                | ~(dut.gate.arrives | dut.gate.passes),
                "cut",
            ),
            Cover(lost & late & dut.gate.fails, "an abort is reported"),
        ]

    def _assert(self, m: Module, dut, number, index, seen) -> None:
        gate, entry = dut.gate, seen.entry
        released, slot = (Signal(_BITS, name=name) for name in ("released_now", "slot_now"))
        m.d.comb += [
            released.eq(_at(gate.released, number)),
            slot.eq(_at(gate.slots, number)),
        ]

        def at(turn: Signal) -> Value:
            return turn.bit_select(number, 1)

        after = _saturated(m, entry.first, entry.gate.workgroups, seen.bands, "after")
        slot_after = _saturated(m, entry.gate.slot, entry.gate.slots, seen.bands, "slot_after")
        beyond, shown, launched = (dut.merged >> number)[1:].any(), seen.shown, dut.launched
        m.d.comb += [
            Assert((dut.dispatch_limit <= index) | shown, "dispatched before its slot is complete"),
            invariant(~launched | (released <= index) | shown, "released: too early"),
            invariant(
                ~launched | Mux(seen.whole, released == _MOST, released == after), "released"
            ),
            invariant(~launched | seen.whole | (slot == slot_after), "slot of the next band"),
            invariant(~launched | (seen.bands <= 8), "too many bands"),
            invariant(
                seen.whole | (entry.gate.workgroups != 0) | (seen.bands == 0), "more than all"
            ),
            invariant(~launched | ~seen.whole | (seen.bands > 0), "whole: without a band"),
            invariant(~at(dut.chosen) | ~gate.passes | shown, "passes: the launch is not complete"),
            invariant(
                ~at(dut.chosen) | ~gate.arrives | seen.whole | (seen.bands != seen.band) | shown,
                "arrives: the slot is not complete",
            ),
            invariant(~at(dut.merged) | (gate.term <= index) | shown, "term: too high"),
            invariant(~beyond | (dut.lowest <= index) | shown, "lowest: too high"),
            Cover((dut.dispatch_limit > index) & (seen.band == 1) & (index == 3), "second band"),
            Cover((dut.dispatch_limit > index) & seen.whole & (seen.bands == 1), "a whole range"),
            Cover((dut.dispatch_limit == index) & (seen.bands == 1), "closed behind a band"),
        ]


def _at(values, number: Value) -> Value:
    """Select the value of a range."""
    chosen = [Mux(number == index, value, 0) for index, value in enumerate(values)]
    return reduce(lambda a, b: a | b, chosen)


class OpenHarness(Elaboratable):
    """Harness of ranges that only wait, with constant permissions, and other contexts that announce
    each change of their progress."""

    def __init__(self, limits: type = RangeLimits, gate: type = DispatchGate):
        self._blocks = limits, gate

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = _limits_with(*self._blocks)
        _free_gates(m, dut)
        m.d.comb += dut.may_await.eq(AnyConst(len(dut.may_await)))
        begun = Signal()
        m.d.sync += begun.eq(1)
        for index, progress in enumerate(dut.progress):
            before = Signal.like(progress, name=f"before_{index}")
            m.d.sync += before.eq(progress)
            same = Cat(progress[name] == before[name] for name in _VALUES).all()
            m.d.comb += Assume(~begun | same | progress.changes)
        m.d.comb += [Assume(entry.action == Action.NONE) for entry in dut.ranges]
        lowest = self._relate(m, dut)
        walks = Cat(dut.turn, dut.chosen, dut.merged).any()
        rests = dut.launched & ~walks & ~self._changes(dut)
        m.d.comb += [
            Assert(~rests | (dut.dispatch_limit == lowest[-1]), "at rest below what was released"),
            Cover(rests & (dut.dispatch_limit == 3), "rests in a range"),
            Cover(rests & (dut.dispatch_limit == _MOST) & dut.gate.open.any(), "rests open"),
        ]
        relate_steps(m, dut)
        relate_rest(m, dut)
        return m

    def _changes(self, dut) -> Value:
        """Signal that the walk since it began has not seen the latest inputs."""
        return dut.fresh | dut.gate.changes

    def _relate(self, m: Module, dut) -> list[Value]:
        """Assert that a range that was visited has been released as far as it may be; return the
        lowest dispatch limit of the first ranges, of all of them last."""
        gate, old, tail = dut.gate, self._changes(dut), Signal()
        # Another walk began while the last range of the one before was in the second step.
        m.d.sync += tail.eq(dut.turn[0] & dut.fresh & ~dut.launch & ~dut.aborting)
        m.d.comb += invariant(~tail | dut.chosen[0], "tail: without another walk")
        late = old | tail
        lowest: list[Value] = []
        for number, entry in enumerate(dut.ranges):
            arrived, passed = _shows(dut, number, gate.slots[number])
            shown, lost = (
                arrived | passed,
                (gate.lost & dut.may_await).bit_select(entry.gate.context[0], 1)
                & (entry.gate.context < 2),
            )
            gated = entry.enable & entry.gate.enable
            closed = gated & (gate.released[number] <= entry.last)
            limit = Signal(_BITS, name=f"limit_{number}")
            m.d.comb += limit.eq(Mux(closed, gate.released[number], _MOST))
            to_come = (dut.turn & ((2 << number) - 1)).any()
            visited = dut.launched & ~old & ~to_come & ~dut.chosen[number]
            of_visit = dut.chosen[number] & ~old & gated
            m.d.comb += [
                Assert(~visited | ~closed | ~shown | lost, f"{number}: stays closed"),
                invariant(
                    ~of_visit | ((gate.arrives | gate.passes) == shown),
                    f"{number}: of another cycle",
                ),
                invariant(~of_visit | (gate.cut == lost), f"{number}: cut"),
                invariant(~dut.merged[number] | late | (gate.term == limit), f"{number}: term"),
                invariant(~dut.merged[number] | (dut.term == _MOST), f"{number}: needs credit"),
            ]
            before = lowest[-1] if lowest else None
            if before is not None:
                m.d.comb += invariant(
                    ~dut.merged[number] | late | (dut.lowest == before), f"{number}: lowest"
                )
            here = Signal(_BITS, name=f"lowest_{number}")
            m.d.comb += here.eq(limit if before is None else Mux(limit < before, limit, before))
            lowest.append(here)
        ended = dut.launched & ~old & ~Cat(dut.turn, dut.chosen, dut.merged).any()
        m.d.comb += invariant(~ended | (dut.dispatch_limit == lowest[-1]), "dispatch limit")
        return lowest


_VALUES = ("valid", "generation", "oldest", "complete")


class PermissionHarness(Elaboratable):
    """Harness with two copies of the range limits that differ in the progress and in the aborts of
    contexts that the context may not await."""

    def __init__(self, limits: type = RangeLimits, gate: type = DispatchGate):
        self._blocks = limits, gate

    def elaborate(self, platform):
        m = Module()
        m.submodules.one = one = _limits_with(*self._blocks)
        m.submodules.two = two = _limits_with(*self._blocks)
        _free_gates(m, one)
        free(m, one.admitted, one.credit_limit, one.changes, one.may_await, two.aborts)
        names = ("launch", "aborting", "pending", "admitted", "credit_limit", "changes")
        for name in (*names, "may_await", "ranges"):
            mine, yours = getattr(one, name), getattr(two, name)
            m.d.comb += Value.cast(yours).eq(Value.cast(mine))
        free(m, two.progress)
        for context, allowed in enumerate(one.may_await):
            same = one.progress[context].as_value() == two.progress[context].as_value()
            m.d.comb += Assume(~allowed | (same & (one.aborts[context] == two.aborts[context])))
        outputs = ("dispatch_limit", "limits", "waits", "releases", "fails", "clock_enable")
        for name in outputs:
            mine, yours = (Value.cast(getattr(dut, name)) for dut in (one, two))
            m.d.comb += Assert(mine == yours, f"{name}: depends on a context without permission")
        for name in ("launched", "fresh", "turn", "chosen", "merged", "least", "term", "lowest"):
            m.d.comb += invariant(getattr(one, name) == getattr(two, name), f"{name} differs")
        for name in ("open", "arrives", "passes", "cut", "lost", "lost_next", "failed", "term"):
            mine, yours = (getattr(dut.gate, name) for dut in (one, two))
            m.d.comb += invariant(mine == yours, f"gate {name} differs")
        for name in ("released", "slots"):
            for mine, yours in zip(getattr(one.gate, name), getattr(two.gate, name), strict=True):
                m.d.comb += invariant(mine == yours, f"gate {name} differs")
        differs = Signal()
        m.d.comb += [
            differs.eq(Value.cast(one.progress) != Value.cast(two.progress)),
            Cover(differs & one.releases, "released, while another context moves"),
            Cover(differs & one.waits & one.launched, "waits"),
        ]
        return m


PROOFS = (
    Proof(
        name="dispatch-gate-early",
        statement="Since a launch began, no dispatch index of a range with a gate is below the "
        "dispatch limit before the awaited context, while the context may await it, has shown in "
        "the awaited generation that the slot of the index's band is complete, or that the whole "
        "launch is",
        blocks=(RangeLimits, DispatchGate),
        harness=EarlyHarness,
        geometry=_GEOMETRY,
        reason=_REASON,
        depth=1,
        cover_depth=14,
    ),
    Proof(
        name="dispatch-gate-open",
        statement="When the range limits rest, a gate is closed only if the slot of its next band "
        "is not shown as complete, or its context was aborted since the launch was accepted; and "
        "the dispatch limit of ranges that only wait is the first index that is not released",
        blocks=(RangeLimits, DispatchGate),
        harness=OpenHarness,
        geometry=_GEOMETRY,
        reason=_REASON,
        depth=1,
        cover_depth=14,
    ),
    Proof(
        name="noninterference-dispatch-gate",
        statement="Without the permission to await a context, neither its progress nor its aborts "
        "change the dispatch limit, the limits of ranges, the report of an abort, or the time at "
        "which any of them changes",
        blocks=(RangeLimits, DispatchGate),
        harness=PermissionHarness,
        geometry=_GEOMETRY,
        reason=_REASON,
        depth=1,
        cover_depth=12,
    ),
)
