"""Proof of the credit window: it admits at most its size and passes complete indices only."""

from functools import partial
from types import SimpleNamespace

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.parameters import T3Parameters
from rtl.trigger.credit_window import CreditWindow

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]


class CreditWindowHarness(Elaboratable):
    """Harness that observes one arbitrary dispatch index.

    The neighbouring blocks guarantee the assumptions: a dispatch index completes once in a launch,
    after it was admitted; the credit window register is at most the capacity of the block; the
    tracked dispatch indices exist.
    """

    def __init__(self, credit_window: type = CreditWindow, *, workgroups: int):
        self._credit_window = credit_window
        self._workgroups = workgroups

    def elaborate(self, platform):
        m = Module()
        p = T3Parameters(contexts=1, credit_window=self._workgroups)
        m.submodules.dut = dut = self._credit_window(p)
        self._assume(m, dut)
        ghost = self._follow(m, dut)
        self._assert_contract(m, dut, ghost)
        self._relate(m, dut, ghost)
        self._relate_bitmap(m, dut, ghost)
        return m

    def _assume(self, m: Module, dut) -> None:
        """Drive the inputs from neighbouring blocks; ``tracked_end`` is an arbitrary constant."""
        configuration = dut.launch_configuration
        free(m, dut.launch, dut.complete, dut.complete_dispatch_index)
        free(m, dut.own, dut.issued, dut.unfinished, dut.tick)
        free(m, *(configuration[name] for name in _CHANGING))
        m.d.comb += [
            configuration.tracked_end.eq(AnyConst(len(configuration.tracked_end))),
            Assume(configuration.credit_window <= self._workgroups),
            Assume(configuration.tracked_first <= 1 << len(dut.complete_dispatch_index)),
        ]

    def _follow(self, m: Module, dut) -> SimpleNamespace:
        """Record the completion of the observed dispatch index since the launch."""
        bits = len(dut.oldest)
        ghost = SimpleNamespace(
            dispatch_index=Signal(bits, name="dispatch_index"),
            launched=Signal(name="launched"),
            just_launched=Signal(name="just_launched"),
            start=Signal(bits, name="start"),
            completed=Signal(name="completed"),
        )
        m.d.comb += ghost.dispatch_index.eq(AnyConst(bits))
        m.d.sync += ghost.just_launched.eq(dut.launch)
        with m.If(dut.launch):
            m.d.sync += [
                ghost.launched.eq(1),
                ghost.completed.eq(0),
                ghost.start.eq(dut.launch_configuration.tracked_first),
            ]
        with m.Elif(dut.complete & (dut.complete_dispatch_index == ghost.dispatch_index)):
            m.d.sync += ghost.completed.eq(1)
        with m.If(dut.complete):
            m.d.comb += [
                Assume(ghost.launched),
                Assume(dut.complete_dispatch_index >= dut.oldest),
                Assume(dut.complete_dispatch_index < dut.oldest + self._workgroups),
                # The bit of the dispatch index in the credit window says that it is not complete.
                Assume(~_is_complete(dut, dut.complete_dispatch_index)),
            ]
        return ghost

    def _assert_contract(self, m: Module, dut, ghost: SimpleNamespace) -> None:
        dispatch_index, start, completed = ghost.dispatch_index, ghost.start, ghost.completed
        tracked_end, end = dut.launch_configuration.tracked_end, dut.oldest + self._workgroups
        passed, stays = Signal(), Signal()
        m.d.sync += stays.eq(completed & (dut.oldest == dispatch_index) & ~dut.launch)
        m.d.comb += [
            passed.eq(ghost.launched & (start <= dispatch_index) & (dispatch_index < dut.oldest)),
            Assert(ghost.launched | (dut.credit_limit == 0), "admits before the launch"),
            Assert(
                ghost.just_launched | (dut.credit_limit <= end),
                "admits beyond the credit window",
            ),
            Assert(~passed | completed, "the oldest passes an incomplete dispatch index"),
            Assert(
                ~(dut.done & (start <= dispatch_index) & (dispatch_index < tracked_end))
                | completed,
                "done with an incomplete tracked dispatch index",
            ),
            Assert(
                ~stays | (dut.oldest == dispatch_index + 1),
                "the oldest stays at a complete dispatch index",
            ),
            Cover(passed & (dut.oldest == start + 2), "the oldest passes two dispatch indices"),
            Cover(completed & (dut.oldest < dispatch_index), "a dispatch index completes early"),
            Cover(dut.done & (start < tracked_end), "done"),
            Cover(dut.credit_limit == end, "the whole credit window is admitted"),
        ]

    def _relate(self, m: Module, dut, ghost: SimpleNamespace) -> None:
        """Relate the oldest dispatch index to the ghost state."""
        last = 1 << len(dut.complete_dispatch_index)
        tracked_end = dut.launch_configuration.tracked_end
        m.d.comb += [
            invariant(dut.launched == ghost.launched, "launched: differs"),
            invariant(dut.oldest <= last, "the oldest is out of range"),
            invariant(
                ~ghost.launched | (ghost.start <= dut.oldest), "the oldest is before the start"
            ),
            invariant(ghost.launched | ~ghost.completed, "complete before the launch"),
            invariant(~dut.done | (dut.oldest >= tracked_end), "done before the end"),
        ]

    def _relate_bitmap(self, m: Module, dut, ghost: SimpleNamespace) -> None:
        """Relate the bitmap to the ghost state; bits without a dispatch index are clear."""
        size, dispatch_index = self._workgroups, ghost.dispatch_index
        within = (dut.oldest <= dispatch_index) & (dispatch_index < dut.oldest + size)
        with m.If(ghost.launched & within):
            m.d.comb += invariant(
                _is_complete(dut, dispatch_index) == ghost.completed,
                "the dispatch index's bit is wrong",
            )
        with m.If(ghost.launched & (dispatch_index >= dut.oldest + size)):
            m.d.comb += invariant(~ghost.completed, "complete without admission")
        # Dispatch indices that do not exist never complete, so the oldest does not reach them.
        last = 1 << len(dut.complete_dispatch_index)
        beyond = Signal(size)
        m.d.comb += beyond.eq(Mux(dut.oldest == last, ~0, (1 << (dut.oldest % size)) - 1))
        with m.If(dut.oldest > last - size):
            m.d.comb += invariant(
                (Cat(dut.bitmap) & beyond) == 0, "a dispatch index beyond the last is complete"
            )
        m.d.comb += [
            invariant(ghost.launched | ~word.any(), f"word {index}: complete before the launch")
            for index, word in enumerate(dut.bitmap)
        ]


def _is_complete(dut, dispatch_index: Value) -> Value:
    """Completion bit of a dispatch index in the credit window."""
    return dut.bitmap[dut.word_of(dispatch_index)].bit_select(dut.bit_of(dispatch_index), 1)


class ReportsHarness(Elaboratable):
    """Harness of the reports of progress, with arbitrary inputs."""

    def __init__(self, credit_window: type = CreditWindow):
        self._credit_window = credit_window

    def elaborate(self, platform):
        m = Module()
        p = T3Parameters(
            contexts=1, sets=1, ways=2, workgroup_bits=3, credit_window=2, command_depth=2
        )
        m.submodules.dut = dut = self._credit_window(p)
        launch = dut.launch_configuration
        inputs = ("launch", "aborting", "complete", "complete_dispatch_index", "own", "issued")
        free(m, launch, *(getattr(dut, name) for name in inputs))
        runs, asked, begun = Signal(), Signal(), Signal()
        before, end = Signal.like(dut.oldest), Signal.like(dut.oldest)
        step, within = Signal(32), Signal(32)
        with m.If(dut.launch):
            m.d.sync += runs.eq(1)
        with m.Elif(dut.aborting):
            m.d.sync += runs.eq(0)
        m.d.sync += [
            begun.eq(1),
            asked.eq(runs & ~dut.launch & launch.reports_steps),
            before.eq(dut.oldest),
            end.eq(launch.tracked_end),
            step.eq(1 << launch.report_log2),
        ]
        m.d.comb += within.eq(dut.oldest & (step - 1))
        due = asked & (dut.oldest != before) & ((within == 0) | (dut.oldest == end))
        m.d.comb += [
            Assert(~begun | (dut.reports == due), "reports: not of a step"),
            invariant(dut.launched == runs, "launched: differs"),
            invariant(begun | ~dut.reports, "reports at first"),
            Cover(dut.reports & (step == 4) & (dut.oldest == 4), "a multiple"),
            Cover(dut.reports & (step == 4) & (dut.oldest == 3), "the end"),
            Cover(asked & ~dut.reports & (dut.oldest != before), "between two steps"),
        ]
        return m


_CHANGING = ("tracked_first", "credit_window", "command_window", "timeout")

PROOFS = tuple(
    Proof(
        name=f"credit-window-{workgroups}",
        statement="The unit admits no dispatch index before the launch, nor beyond the credit "
        "window from the oldest on; the oldest passes complete dispatch indices only, and does not "
        "wait at a complete one; done implies that every tracked dispatch index is complete",
        blocks=(CreditWindow,),
        harness=partial(CreditWindowHarness, workgroups=workgroups),
        geometry=f"{workgroups} workgroups, otherwise the reference",
        depth=1,
        cover_depth=7,
        slow=True,
    )
    for workgroups in (64, 512)  # two words of the bitmap; the reference
) + (
    Proof(
        name="credit-window-reports",
        statement="Progress is reported in each cycle in which the oldest dispatch index of a "
        "launch has come to a multiple of its step, or to the end of its slots, and in no other",
        blocks=(CreditWindow,),
        harness=ReportsHarness,
        geometry="dispatch indices of 3 bits, 2 admitted workgroups",
        reason="the proof depends on no width",
        depth=1,
        cover_depth=14,
    ),
)
