"""Credit window: admits no more than it remembers, and passes no dispatch index that is not
complete."""

from functools import partial

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from rtl.parameters import T3Parameters
from rtl.trigger.credit_window import CreditWindow

from .inside import invariant, opened
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]


class CreditWindowHarness(Elaboratable):
    """Follows one dispatch index, whichever.

    Assumed, as the blocks around guarantee it: a dispatch index completes once in a launch, and
    only after it was admitted; the credit window register is at most what the block can remember,
    and the tracked dispatch indices are ones that exist.
    """

    def __init__(self, credit_window: type = CreditWindow, *, workgroups: int):
        self._credit_window = credit_window
        self._workgroups = workgroups

    def elaborate(self, platform):
        m = Module()
        p = T3Parameters(credit_window=self._workgroups)
        m.submodules.dut = dut = self._credit_window(p)
        inside = opened(dut)
        launch_configuration = dut.launch_configuration
        free(
            m,
            dut.launch,
            dut.complete,
            dut.complete_dispatch_index,
            dut.own,
            dut.issued,
            dut.credit_limit_in,
        )
        free(m, dut.unfinished)
        free(m, *(launch_configuration[name] for name in _CHANGING))
        tracked_end = Signal.like(launch_configuration.tracked_end)
        m.d.comb += [tracked_end.eq(AnyConst(p.credit_limit_bits))]
        m.d.comb += launch_configuration.tracked_end.eq(tracked_end)

        size = p.credit_window
        dispatch_index = Signal(p.credit_limit_bits)
        m.d.comb += dispatch_index.eq(AnyConst(len(dispatch_index)))
        completed, launched, just_launched = Signal(), Signal(), Signal()
        start = Signal(p.credit_limit_bits)
        m.d.sync += just_launched.eq(dut.launch)
        with m.If(dut.launch):
            m.d.sync += [
                launched.eq(1),
                completed.eq(0),
                start.eq(launch_configuration.tracked_first),
            ]
        with m.Elif(dut.complete & (dut.complete_dispatch_index == dispatch_index)):
            m.d.sync += completed.eq(1)

        words = inside.bitmap

        def bit_of(index):
            word = words[index[inside.low_bits : inside.index_bits]]
            return word.bit_select(index[: inside.low_bits], 1)

        m.d.comb += [
            Assume(launch_configuration.credit_window <= size),
            Assume(launch_configuration.tracked_first <= 1 << p.dispatch_index_bits),
        ]
        with m.If(dut.complete):
            m.d.comb += [
                Assume(launched),
                Assume(dut.complete_dispatch_index >= dut.oldest),
                Assume(dut.complete_dispatch_index < dut.oldest + size),
                # Not complete yet: of a dispatch index in the credit window, its bit says so.
                Assume(~bit_of(dut.complete_dispatch_index)),
            ]

        passed = Signal()
        stays = Signal()
        m.d.sync += stays.eq(completed & (dut.oldest == dispatch_index) & ~dut.launch)
        m.d.comb += [
            passed.eq(launched & (start <= dispatch_index) & (dispatch_index < dut.oldest)),
            Assert(launched | (dut.credit_limit == 0), "admits before the launch"),
            Assert(
                just_launched | (dut.credit_limit <= dut.oldest + size),
                "admits beyond the credit window",
            ),
            Assert(~passed | completed, "the oldest passes a dispatch index that is not complete"),
            Assert(
                ~(dut.done & (start <= dispatch_index) & (dispatch_index < tracked_end))
                | completed,
                "done, but a tracked dispatch index is not complete",
            ),
            Assert(
                ~stays | (dut.oldest == dispatch_index + 1),
                "the oldest stays at a complete dispatch index",
            ),
            Cover(passed & (dut.oldest == start + 2), "the oldest passes two dispatch indices"),
            Cover(completed & (dut.oldest < dispatch_index), "complete before its turn"),
            Cover(dut.done & (start < tracked_end), "done"),
            Cover(dut.credit_limit == dut.oldest + size, "the whole credit window is admitted"),
            invariant(inside.launched == launched, "launched: the block knows another"),
            invariant(dut.oldest <= 1 << p.dispatch_index_bits, "the oldest is no dispatch index"),
            invariant(~launched | (start <= dut.oldest), "the oldest is before the start"),
            invariant(launched | ~completed, "complete before the launch"),
            invariant(~dut.done | (dut.oldest >= tracked_end), "done before the end"),
        ]
        within = (dut.oldest <= dispatch_index) & (dispatch_index < dut.oldest + size)
        with m.If(launched & within):
            m.d.comb += invariant(
                bit_of(dispatch_index) == completed, "the dispatch index's bit is wrong"
            )
        with m.If(launched & (dispatch_index >= dut.oldest + size)):
            m.d.comb += invariant(~completed, "complete without admission")
        # Dispatch indices that there are not are never complete, so that the oldest does not get
        # there.
        last = 1 << p.dispatch_index_bits
        beyond = Signal(size)
        m.d.comb += beyond.eq(Mux(dut.oldest == last, ~0, (1 << (dut.oldest % size)) - 1))
        with m.If(dut.oldest > last - size):
            m.d.comb += invariant(
                (Cat(words) & beyond) == 0, "a dispatch index beyond the last is complete"
            )
        m.d.comb += [
            invariant(launched | ~word.any(), f"word {index}: complete before the launch")
            for index, word in enumerate(words)
        ]
        return m


_CHANGING = ("tracked_first", "shift", "credit_window", "command_window", "timeout")

PROOFS = tuple(
    Proof(
        name=f"credit window-{workgroups}",
        statement="Nothing is admitted before the launch, nor more than the credit window "
        "beyond the "
        "oldest; the oldest passes no dispatch index that is not complete, and waits at no "
        "complete one; done "
        "means that every tracked dispatch index is complete",
        blocks=(CreditWindow,),
        harness=partial(CreditWindowHarness, workgroups=workgroups),
        geometry=f"{workgroups} workgroups, else the reference's",
        depth=1,
        cover_depth=7,
        slow=True,
    )
    for workgroups in (64, 512)  # two words; the reference's
)
