"""Window: admits no more than it remembers, and passes no place that is not complete."""

from functools import partial

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from rtl.parameters import T3Parameters
from rtl.trigger.window import Window

from .inside import invariant, opened
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]


class WindowHarness(Elaboratable):
    """Follows one place, whichever.

    Assumed, as the blocks around guarantee it: a place completes once in a production, and only
    after it was admitted; the window register is at most what the block can remember, and the
    tracked places are ones that exist.
    """

    def __init__(self, window: type = Window, *, workgroups: int):
        self._window = window
        self._workgroups = workgroups

    def elaborate(self, platform):
        m = Module()
        p = T3Parameters(window_workgroups=self._workgroups)
        m.submodules.dut = dut = self._window(p)
        inside = opened(dut)
        production = dut.production
        free(m, dut.launch, dut.complete, dut.complete_place, dut.own, dut.picked, dut.limit_in)
        free(m, dut.unfinished)
        free(m, *(production[name] for name in _CHANGING))
        tracked_end = Signal.like(production.tracked_end)
        m.d.comb += [tracked_end.eq(AnyConst(p.limit_bits))]
        m.d.comb += production.tracked_end.eq(tracked_end)

        size = p.window_workgroups
        place = Signal(p.limit_bits)
        m.d.comb += place.eq(AnyConst(len(place)))
        completed, launched, just_launched = Signal(), Signal(), Signal()
        start = Signal(p.limit_bits)
        m.d.sync += just_launched.eq(dut.launch)
        with m.If(dut.launch):
            m.d.sync += [launched.eq(1), completed.eq(0), start.eq(production.tracked_first)]
        with m.Elif(dut.complete & (dut.complete_place == place)):
            m.d.sync += completed.eq(1)

        words = inside.bitmap

        def bit_of(index):
            word = words[index[inside.low_bits : inside.index_bits]]
            return word.bit_select(index[: inside.low_bits], 1)

        m.d.comb += [
            Assume(production.window <= size),
            Assume(production.tracked_first <= 1 << p.place_bits),
        ]
        with m.If(dut.complete):
            m.d.comb += [
                Assume(launched),
                Assume(dut.complete_place >= dut.base),
                Assume(dut.complete_place < dut.base + size),
                # Not complete yet: of a place in the window, its bit says so.
                Assume(~bit_of(dut.complete_place)),
            ]

        passed = Signal()
        stays = Signal()
        m.d.sync += stays.eq(completed & (dut.base == place) & ~dut.launch)
        m.d.comb += [
            passed.eq(launched & (start <= place) & (place < dut.base)),
            Assert(launched | (dut.limit == 0), "admits before the launch"),
            Assert(just_launched | (dut.limit <= dut.base + size), "admits beyond the window"),
            Assert(~passed | completed, "the base passes a place that is not complete"),
            Assert(
                ~(dut.done & (start <= place) & (place < tracked_end)) | completed,
                "done, but a tracked place is not complete",
            ),
            Assert(~stays | (dut.base == place + 1), "the base stays at a complete place"),
            Cover(passed & (dut.base == start + 2), "the base passes two places"),
            Cover(completed & (dut.base < place), "complete before its turn"),
            Cover(dut.done & (start < tracked_end), "done"),
            Cover(dut.limit == dut.base + size, "the whole window is admitted"),
            invariant(inside.launched == launched, "launched: the block knows another"),
            invariant(dut.base <= 1 << p.place_bits, "the base is no place"),
            invariant(~launched | (start <= dut.base), "the base is before the start"),
            invariant(launched | ~completed, "complete before the launch"),
            invariant(~dut.done | (dut.base >= tracked_end), "done before the end"),
        ]
        within = (dut.base <= place) & (place < dut.base + size)
        with m.If(launched & within):
            m.d.comb += invariant(bit_of(place) == completed, "the place's bit is wrong")
        with m.If(launched & (place >= dut.base + size)):
            m.d.comb += invariant(~completed, "complete without admission")
        # Places that there are not are never complete, so that the base does not get there.
        last = 1 << p.place_bits
        beyond = Signal(size)
        m.d.comb += beyond.eq(Mux(dut.base == last, ~0, (1 << (dut.base % size)) - 1))
        with m.If(dut.base > last - size):
            m.d.comb += invariant((Cat(words) & beyond) == 0, "a place beyond the last is complete")
        m.d.comb += [
            invariant(launched | ~word.any(), f"word {index}: complete before the launch")
            for index, word in enumerate(words)
        ]
        return m


_CHANGING = ("tracked_first", "shift", "window", "command_window", "timeout")

PROOFS = tuple(
    Proof(
        name=f"window-{workgroups}",
        statement="Nothing is admitted before the launch, nor more than the window beyond the "
        "base; the base passes no place that is not complete, and waits at no complete one; done "
        "means that every tracked place is complete",
        blocks=(Window,),
        harness=partial(WindowHarness, workgroups=workgroups),
        geometry=f"{workgroups} workgroups, else the reference's",
        depth=1,
        cover_depth=7,
        slow=True,
    )
    for workgroups in (64, 512)  # two words; the reference's
)
