"""Proof of the criticality unit: specified outputs and counters that saturate."""

from collections.abc import Mapping

from amaranth.hdl import Assert, Const, Cover, Elaboratable, Module, Mux, Signal, Value, signed

from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_MOST = (1 << 14) - 1  # most ticks of a group
_FRACTIONS = 16  # ticks in a unit of elapsed time


class CriticalityHarness(Elaboratable):
    """Harness with arbitrary inputs.

    The verdict ``late`` is taken from the block; the proof ``criticality-comparison`` covers it.
    The proof ``congestion`` covers the congestion level; this one shows that samples come with
    each tick.
    """

    def __init__(self, criticality: type = Criticality):
        self._criticality = criticality

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._criticality(T3Parameters(contexts=1))
        free(m, dut.launch_configuration, dut.launch, dut.tick, dut.dispatched, dut.finished)
        free(m, dut.issued, dut.busy, dut.oldest, dut.dispatch_limit, dut.held_up)

        launched = Signal()
        m.d.sync += launched.eq(launched | dut.launch)
        runs, waits = Signal(), Signal()
        workgroups = dut.launch_configuration.workgroups
        m.d.comb += [
            runs.eq(launched & (dut.dispatched != 0) & (dut.finished < workgroups)),
            waits.eq((dut.dispatched >= dut.dispatch_limit) & (dut.dispatched < workgroups)),
            invariant(dut.launched == launched, "launched: differs"),
        ]
        self._assert_outputs(m, dut, runs, waits)
        self._assert_kernel(m, dut, runs & ~waits)
        self._assert_link(m, dut)
        self._assert_remaining(m, dut)
        self._assert_samples(m, dut)
        return m

    def _assert_outputs(self, m: Module, dut: Criticality, runs: Value, waits: Value) -> None:
        """Assert the outputs, which are one cycle late."""
        stopped = Signal(init=1)
        m.d.sync += stopped.eq(~runs)
        for name, value in _specified(dut, runs, waits).items():
            expected = Signal(name=f"expected_{name}")
            m.d.sync += expected.eq(value)
            output = getattr(dut, name)
            m.d.comb += [
                Assert(output == expected, f"{name}: differs from the specification"),
                Assert(~stopped | ~output, f"{name}: high while no kernel runs"),
                Cover(output, f"{name}: high"),
                Cover(~output & ~stopped, f"{name}: low while a kernel runs"),
            ]

    def _assert_kernel(self, m: Module, dut: Criticality, counts: Value) -> None:
        """Assert the elapsed time, and the time at which the last workgroup finished."""
        ran = Signal(24)  # ticks; the last unit repeats at saturation
        seen, time = Signal.like(dut.finished), Signal(20)
        with m.If(dut.launch):
            m.d.sync += [ran.eq(0), seen.eq(0), time.eq(0)]
        with m.Else():
            with m.If(dut.tick & counts):
                m.d.sync += ran.eq(Mux(ran.all(), ran - (_FRACTIONS - 1), ran + 1))
            with m.If(dut.finished != seen):
                m.d.sync += [seen.eq(dut.finished), time.eq(ran // _FRACTIONS)]
        m.d.comb += [
            Assert(dut.elapsed == ran // _FRACTIONS, "elapsed: differs"),
            Assert(dut.finish_time == time, "finish_time: differs"),
            invariant(dut.fraction == ran % _FRACTIONS, "fraction: differs"),
            invariant(dut.finished_seen == seen, "finished_seen: differs"),
        ]

    def _assert_link(self, m: Module, dut: Criticality) -> None:
        """Assert the time of the last group, which is not 0 after the first group."""
        begun, count, ticks = Signal(), Signal.like(dut.sent), Signal(range(_MOST + 1))
        size = Signal.like(dut.sent, init=1)  # workgroups of a group
        last, any_group, sent = Signal.like(ticks), Signal(), Signal.like(dut.sent)
        counts = dut.tick & dut.busy
        ends = dut.issued & begun & (count == size - 1)
        with m.If(dut.launch):
            m.d.sync += [one.eq(0) for one in (begun, count, ticks, last, any_group, sent)]
            m.d.sync += size.eq(_group_size(dut.launch_configuration.workgroups))
        with m.Else():
            with m.If(ends | (dut.issued & ~begun)):
                m.d.sync += ticks.eq(counts)
            with m.Elif(begun & counts & (ticks != _MOST)):
                m.d.sync += ticks.eq(ticks + 1)
            m.d.sync += [
                count.eq(Mux(ends, 0, count + (dut.issued & begun))),
                begun.eq(begun | dut.issued),
                sent.eq(sent + dut.issued),
                any_group.eq(any_group | ends),
            ]
            with m.If(ends):
                m.d.sync += last.eq(Mux(ticks == 0, 1, ticks))
        m.d.comb += [
            Assert(dut.link_time == last, "link_time: not the time of the last group"),
            Assert(~any_group | (dut.link_time != 0), "link_time: 0 after the first group"),
            Assert(dut.sent == sent, "sent: differs"),
            Cover(dut.link_time != 0, "the first group ends"),
            invariant(any_group | (last == 0), "a time without a group"),
            invariant(~any_group | (last != 0), "a group without a time"),
            invariant(dut.measuring == begun, "measuring: differs"),
            invariant(dut.group == count, "group: differs"),
            invariant(size == 1 << dut.timed_log2, "timed_log2: differs"),
            invariant(dut.timed_log2 <= len(dut.group), "timed_log2: too large"),
            invariant(count < size, "more workgroups than a group has"),
            invariant(dut.group_time == ticks, "group_time: differs"),
        ]

    def _assert_remaining(self, m: Module, dut: Criticality) -> None:
        """Assert the operand of the comparison, from the values in each phase."""
        launch = dut.launch_configuration
        phase, begins = Signal(6), Signal()
        done, whole = Signal(len(dut.settled)), Signal(signed(len(dut.settled)))
        left = Signal(signed(len(dut.settled) + 2))
        m.d.comb += begins.eq(dut.tick & dut.changed & (phase == 0))
        with m.If(dut.launch):
            m.d.sync += phase.eq(0)
        with m.Elif(begins | (phase != 0)):
            m.d.sync += phase.eq(phase + 1)
        with m.If(begins):
            sent = launch.tracked_first + dut.sent
            m.d.sync += done.eq(Mux(dut.finished < launch.tracked_first, dut.finished, sent))
        with m.If(phase == 1):
            m.d.sync += whole.eq(launch.to_send)
        m.d.comb += [
            left.eq(whole - done),
            Assert(
                (phase != 3) | (dut.remaining == Mux(left > 0, left, 0)),
                "remaining: not the workgroups that are still to be sent",
            ),
            Cover((phase == 3) & (left > 3) & (done > 3), "workgroups are still to be sent"),
            invariant(dut.phase == phase, "phase: differs"),
        ]

    @staticmethod
    def _assert_samples(m: Module, dut: Criticality) -> None:
        """Assert that each tick samples a channel, counted in the next cycle."""
        congestion, ticked = dut.congestion, Signal()
        m.d.sync += ticked.eq(dut.tick)
        m.d.comb += [
            Assert(congestion.look == dut.tick, "look: differs from the tick"),
            Assert(congestion.count == ticked, "count: not one cycle after the tick"),
            Assert(dut.congested == congestion.congested, "congested: differs"),
        ]


def _group_size(workgroups: Value) -> Value:
    """Number of workgroups that are timed together: a power of two."""
    size: Value = Const(1)
    for log2 in range(1, len(workgroups) - 5):
        size = Mux(workgroups > 32 << log2, 1 << log2, size)
    return size


def _specified(dut: Criticality, runs: Value, waits: Value) -> Mapping[str, Value]:
    """Specified value of each output for the previous cycle."""
    window, oldest = dut.launch_configuration.credit_window, dut.oldest
    leads = dut.dispatched > oldest + ((window >> 1) | (window >> 2))
    lags = dut.finished > oldest + (window >> 3)
    return {
        "active": runs & ~waits,
        "relaxed": runs & ~waits & (dut.link_time != 0) & ~dut.late & ~lags,
        "critical": runs & (waits | leads | dut.late),
    }


PROOFS = (
    Proof(
        name="criticality",
        statement="The outputs follow the specification and are low while no kernel runs; elapsed "
        "times, link time and the workgroups still to be sent follow the contract: they saturate, "
        "and from the first group of a launch on the link time is not 0",
        blocks=(Criticality,),
        harness=CriticalityHarness,
        geometry="reference",
        depth=6,
        cover_depth=12,
    ),
)
