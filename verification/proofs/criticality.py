"""Criticality: tells what the contract says, counts without wrapping, and forgets at a launch."""

from collections.abc import Mapping

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal, Value, signed

from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_MOST = (1 << 14) - 1  # ticks of a group
_GROUP = 32
_FRACTIONS = 16  # ticks in a unit of elapsed time


class CriticalityHarness(Elaboratable):
    """All inputs do what they like.

    The verdict is taken from the block: it is that of the proof ``criticality-comparison``. The
    proof ``congestion`` is about what it tells of the memory; here, that it looks at each tick.
    """

    def __init__(self, criticality: type = Criticality):
        self._criticality = criticality

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._criticality(T3Parameters(contexts=1))
        free(m, dut.launch_configuration, dut.launch, dut.tick, dut.dispatched, dut.finished)
        free(m, dut.issued, dut.oldest, dut.dispatch_limit, dut.held_up)

        launched, just_launched = Signal(), Signal()
        m.d.sync += [launched.eq(launched | dut.launch), just_launched.eq(dut.launch)]
        runs, waits = Signal(), Signal()
        workgroups = dut.launch_configuration.workgroups
        m.d.comb += [
            runs.eq(launched & (dut.dispatched != 0) & (dut.finished < workgroups)),
            waits.eq((dut.dispatched >= dut.dispatch_limit) & (dut.dispatched < workgroups)),
            invariant(dut.launched == launched, "launched: the block knows another"),
        ]
        self._assert_told(m, dut, runs, waits)
        self._assert_kernel(m, dut, runs & ~waits)
        self._assert_link(m, dut, just_launched)
        self._assert_remaining(m, dut)
        self._assert_samples(m, dut)
        return m

    def _assert_told(self, m: Module, dut: Criticality, runs: Value, waits: Value) -> None:
        """The outputs, a cycle behind."""
        stopped = Signal(init=1)
        m.d.sync += stopped.eq(~runs)
        for name, value in _told(dut, runs, waits).items():
            expected = Signal(name=f"expected_{name}")
            m.d.sync += expected.eq(value)
            told = getattr(dut, name)
            m.d.comb += [
                Assert(told == expected, f"{name}: not as specified"),
                Assert(~stopped | ~told, f"{name}: while no kernel runs"),
                Cover(told, f"{name}: on"),
                Cover(~told & ~stopped, f"{name}: off while a kernel runs"),
            ]

    def _assert_kernel(self, m: Module, dut: Criticality, counts: Value) -> None:
        """Elapsed time, and the time of the last workgroup that ended."""
        ran = Signal(24)  # ticks; at its end the last unit repeats
        seen, time = Signal.like(dut.finished), Signal(20)
        with m.If(dut.launch):
            m.d.sync += [ran.eq(0), seen.eq(0), time.eq(0)]
        with m.Else():
            with m.If(dut.tick & counts):
                m.d.sync += ran.eq(Mux(ran.all(), ran - (_FRACTIONS - 1), ran + 1))
            with m.If(dut.finished != seen):
                m.d.sync += [seen.eq(dut.finished), time.eq(ran // _FRACTIONS)]
        m.d.comb += [
            Assert(dut.elapsed == ran // _FRACTIONS, "another elapsed time"),
            Assert(dut.finish_time == time, "another time of the last that ended"),
            invariant(dut.fraction == ran % _FRACTIONS, "another fraction"),
            invariant(dut.finished_seen == seen, "another number of ended workgroups"),
        ]

    def _assert_link(self, m: Module, dut: Criticality, just_launched: Value) -> None:
        """The shortest time of a group: found anew, never 0 after the first, never growing."""
        begun, count, ticks = Signal(), Signal(range(_GROUP)), Signal(range(_MOST + 1))
        took, shortest, any_group = Signal.like(ticks), Signal.like(ticks), Signal()
        sent, before = Signal.like(dut.sent), Signal.like(ticks)
        ends = dut.issued & begun & (count == _GROUP - 1)
        m.d.comb += took.eq(Mux(ticks == 0, 1, ticks))
        m.d.sync += before.eq(dut.link_time)
        with m.If(dut.launch):
            m.d.sync += [one.eq(0) for one in (begun, count, ticks, shortest, any_group, sent)]
        with m.Else():
            with m.If(ends | (dut.issued & ~begun)):
                m.d.sync += ticks.eq(dut.tick)
            with m.Elif(begun & dut.tick & (ticks != _MOST)):
                m.d.sync += ticks.eq(ticks + 1)
            m.d.sync += [
                count.eq(Mux(ends, 0, count + (dut.issued & begun))),
                begun.eq(begun | dut.issued),
                sent.eq(sent + dut.issued),
                any_group.eq(any_group | ends),
            ]
            with m.If(ends & (~any_group | (took < shortest))):
                m.d.sync += shortest.eq(took)
        m.d.comb += [
            Assert(dut.link_time == shortest, "not the shortest time of a group"),
            Assert(~any_group | (dut.link_time != 0), "no time after the first group"),
            Assert(
                just_launched | (before == 0) | (dut.link_time <= before), "the link's time grows"
            ),
            Assert(dut.sent == sent, "another number of sent workgroups"),
            Cover(dut.link_time != 0, "the first group ends"),
            invariant(any_group | (shortest == 0), "a time of no group"),
            invariant(~any_group | (shortest != 0), "a group of no time"),
            invariant(dut.measuring == begun, "measures at another time"),
            invariant(dut.group == count, "another number in the group"),
            invariant(dut.group_time == ticks, "another time of the group"),
        ]

    def _assert_remaining(self, m: Module, dut: Criticality) -> None:
        """What the comparison begins with, from the values of each step's phase."""
        launch = dut.launch_configuration
        phase, begins = Signal(6), Signal()
        gone, whole = Signal(len(dut.gone)), Signal(signed(len(dut.gone)))
        left = Signal(signed(len(dut.gone) + 2))
        m.d.comb += begins.eq(dut.tick & dut.changed & (phase == 0))
        with m.If(dut.launch):
            m.d.sync += phase.eq(0)
        with m.Elif(begins | (phase != 0)):
            m.d.sync += phase.eq(phase + 1)
        with m.If(begins):
            sent = launch.tracked_first + dut.sent
            m.d.sync += gone.eq(Mux(dut.finished < launch.tracked_first, dut.finished, sent))
        with m.If(phase == 1):
            m.d.sync += whole.eq(launch.tracked_end - launch.shift)
        m.d.comb += [
            left.eq(whole - gone),
            Assert(
                (phase != 3) | (dut.remaining == Mux(left > 0, left, 0)),
                "not the workgroups that are still to be sent",
            ),
            Cover((phase == 3) & (left > 3) & (gone > 3), "some are still to be sent"),
            invariant(dut.phase == phase, "another phase"),
        ]

    @staticmethod
    def _assert_samples(m: Module, dut: Criticality) -> None:
        """A look at a channel at each tick, and its count in the cycle after it."""
        congestion, ticked = dut.congestion, Signal()
        m.d.sync += ticked.eq(dut.tick)
        m.d.comb += [
            Assert(congestion.look == dut.tick, "looks at another time"),
            Assert(congestion.count == ticked, "counts at another time"),
            Assert(dut.congested == congestion.congested, "congested: another one's"),
        ]


def _told(dut: Criticality, runs: Value, waits: Value) -> Mapping[str, Value]:
    """What each output says of the cycle before."""
    window, oldest = dut.launch_configuration.credit_window, dut.oldest
    leads = dut.dispatched > oldest + ((window >> 1) | (window >> 2))
    lags = dut.finished > oldest + (window >> 3)
    unknown = dut.measuring & (dut.link_time == 0)
    return {
        "active": runs & ~waits,
        "relaxed": runs & ~waits & ~dut.late & ~lags,
        "critical": runs & (waits | leads | dut.late | unknown),
    }


PROOFS = (
    Proof(
        name="criticality",
        statement="The outputs are as specified, and off while no kernel runs; elapsed times, the "
        "link's time and what is still to be sent are those of the contract: they saturate, and "
        "from a launch's first group on the link's time is not 0 and never grows",
        blocks=(Criticality,),
        harness=CriticalityHarness,
        geometry="the reference's",
        depth=6,
        cover_depth=36,
    ),
)
