"""Proofs of the external status: aborts that peers see, progress and lost packets."""

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.context.external_status import ExternalStatus
from rtl.parameters import T3Parameters

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_P = T3Parameters(contexts=1, sets=1, ways=2, workgroup_bits=3, credit_window=2)
_P_AWAITED = replace(_P, contexts=2)


class AbortsHarness(Elaboratable):
    """Harness that follows one launch, which any launch may be, and its aborts."""

    def __init__(self, status: type = ExternalStatus):
        self._status = status

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._status(_P)
        free(m, dut.launch, dut.cut_short, dut.launch_generation)
        free(m, dut.dispatched, dut.finished, dut.kernel_generation, dut.copies, dut.lost)
        choice, follows, cut = Signal(), Signal(), Signal()
        step, age = Signal(4), Signal(4)
        free(m, choice)
        m.d.comb += [
            step.eq(dut.launch_generation - dut.generation),
            Assume(dut.launch | (dut.launch_generation == dut.generation)),
            Assume(~dut.launch | ((step != 0) & (step < 8))),
            Assume(~dut.launch | ~dut.cut_short),
        ]
        with m.If(dut.launch & choice & ~follows):
            m.d.sync += [follows.eq(1), age.eq(0), cut.eq(0)]
        with m.Elif(dut.launch):
            m.d.sync += age.eq(Mux(age[3] | (age + step >= 8), 8, age + step))
        with m.Elif(dut.cut_short & (age == 0)):
            m.d.sync += cut.eq(1)
        m.d.comb += Cover(follows & cut & (age == 7), "an old abort")
        for back in range(8):
            m.d.comb += Assert(
                ~follows | (age != back) | (dut.aborted[back] == cut), f"abort {back} differs"
            )
        return m


class LossesHarness(Elaboratable):
    """Harness that follows the reports since the last launch or copy."""

    def __init__(self, status: type = ExternalStatus):
        self._status = status

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._status(_P)
        free(m, dut.launch, dut.cut_short, dut.launch_generation, dut.copies, dut.lost)
        free(m, dut.dispatched, dut.finished, dut.kernel_generation)
        begins, reported = Signal(), Signal()
        m.d.comb += begins.eq(dut.launch | dut.copies)
        with m.If(begins):
            m.d.sync += reported.eq(0)
        with m.Elif(dut.reports_loss):
            m.d.sync += reported.eq(1)
        m.d.comb += [
            Assert(~dut.reports_loss | dut.lost, "a report without a loss"),
            Assert(~(reported & dut.reports_loss), "a second report"),
            Assert(~dut.lost | reported | dut.reports_loss, "no report"),
            invariant(dut.seen == reported, "seen: differs from the reports"),
            Cover(reported & dut.lost & ~begins, "a later loss"),
            Cover(dut.reports_loss & begins, "a loss as a launch or a copy begins"),
        ]
        return m


class ProgressHarness(Elaboratable):
    """Harness that follows one launch, which any launch may be, until it is no longer shown."""

    def __init__(self, status: type = ExternalStatus):
        self._status = status

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._status(_P_AWAITED)
        inputs = ("launch", "launched", "aborting", "launch_generation", "oldest", "done")
        free(m, *(getattr(dut, name) for name in inputs))
        choice, follows, ended = Signal(), Signal(), Signal()
        step, age = Signal(4), Signal(4)
        free(m, choice)
        m.d.comb += [
            step.eq(dut.launch_generation - dut.generation),
            Assume(dut.launch | (dut.launch_generation == dut.generation)),
            Assume(~dut.launch | ((step != 0) & (step < 8))),
            Assume(~dut.launch | (dut.launched & ~dut.aborting)),
        ]
        # In the cycle of a launch, `done` still belongs to the one before.
        done = ended | (dut.launched & dut.done & (age == 0))
        m.d.sync += ended.eq(Mux(dut.aborting, 0, done))
        with m.If(dut.launch & choice & ~follows):
            m.d.sync += [follows.eq(1), age.eq(0), ended.eq(0)]
        with m.Elif(dut.launch):
            m.d.sync += age.eq(Mux(age[3] | (age + step >= 8), 8, age + step))
        self._assert_now(m, dut)
        for back in range(8):
            m.d.comb += Assert(
                ~follows | (age != back) | (dut.progress.complete[back] == ended),
                f"complete {back} differs",
            )
        m.d.comb += Cover(follows & ended & (age == 7), "an old complete launch")
        return m

    def _assert_now(self, m: Module, dut) -> None:
        """Assert that valid, generation and oldest belong to one launch, and changes to them."""
        progress, before = dut.progress, Signal.like(dut.progress, name="before")
        runs, oldest, begun = Signal(), Signal.like(dut.oldest), Signal()
        m.d.sync += [
            runs.eq(dut.launched & ~dut.launch & ~dut.aborting),
            oldest.eq(dut.oldest),
            before.eq(progress),
            begun.eq(1),
        ]
        same = (Value.cast(progress) ^ Value.cast(before))[: len(Value.cast(progress)) - 1] == 0
        m.d.comb += [
            Assert(progress.valid == runs, "valid: without a launch that has begun"),
            Assert(~progress.valid | (progress.oldest == oldest), "oldest: of another cycle"),
            Assert(progress.generation == dut.generation, "generation: of another cycle"),
            Assert(~begun | (progress.changes == ~same), "changes: without a change"),
            Cover(progress.valid & progress.changes, "progress"),
        ]


PROOFS = (
    Proof(
        name="external-status-losses",
        statement="The first loss behind each launch and each copy is reported in its cycle, and "
        "no other one",
        blocks=(ExternalStatus,),
        harness=LossesHarness,
        geometry="workgroup numbers of 3 bits",
        reason="the proof depends on no width",
        depth=2,
        cover_depth=4,
    ),
    Proof(
        name="external-status-aborts",
        statement="Each bit shown to peers reports whether the launch of its generation was cut "
        "short, however many launches have begun since",
        blocks=(ExternalStatus,),
        harness=AbortsHarness,
        geometry="workgroup numbers of 3 bits",
        reason="the proof depends on no width",
        depth=2,
        cover_depth=12,
    ),
    Proof(
        name="external-status-progress",
        statement="What a context shows to those that await it belongs to one launch, which its "
        "generation names; each bit of the complete launches reports whether the launch of its "
        "generation was done, unless the context was aborted since",
        blocks=(ExternalStatus,),
        harness=ProgressHarness,
        geometry="workgroup numbers of 3 bits, 2 contexts",
        reason="the proof depends on no width",
        depth=2,
        cover_depth=12,
    ),
)
