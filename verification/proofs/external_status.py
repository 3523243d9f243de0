"""Proof of the external status: an abort of the downstream GPU is reported once for each launch."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal

from rtl.context.external_status import ExternalStatus
from rtl.parameters import T3Parameters

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_P = T3Parameters(contexts=1, sets=1, ways=2, workgroup_bits=3, credit_window=2)


class ExternalStatusHarness(Elaboratable):
    """Harness with arbitrary inputs; a launch may begin in every cycle."""

    def __init__(self, status: type = ExternalStatus):
        self._status = status

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._status(_P)
        free(m, dut.launch, dut.launched, dut.launch_generation, dut.credit_limit_in)
        free(m, dut.generation_in, dut.aborted_in, dut.dispatched, dut.finished)
        free(m, dut.kernel_generation)
        aborts = Signal()
        is_launch = dut.generation_in == dut.launch_generation
        m.d.comb += aborts.eq(dut.aborted_in & dut.launched & is_launch)
        # Since the launch began: whether it was aborted, and the last cycle's part of that.
        aborted, fresh, reports = Signal(), Signal(), Signal(2)
        with m.If(dut.launch):
            m.d.sync += [aborted.eq(aborts), fresh.eq(aborts), reports.eq(0)]
        with m.Else():
            m.d.sync += [aborted.eq(aborted | aborts), fresh.eq(aborts & ~aborted)]
            m.d.sync += reports.eq(reports + dut.peer_aborted)
        m.d.comb += [
            Assert(dut.peer_aborted == fresh, "an abort is not reported when it is first seen"),
            Assert(reports + dut.peer_aborted <= 1, "a launch's abort is reported twice"),
            invariant(dut.seen == aborted, "seen: differs"),
            invariant(reports + fresh <= aborted, "reports: more than aborts"),
            Cover(aborted & ~aborts & ~dut.aborted_in, "an abort goes away"),
            Cover(dut.peer_aborted & dut.launch, "a report as the next launch begins"),
        ]
        return m


PROOFS = (
    Proof(
        name="external-status",
        statement="An abort of the downstream GPU in the current launch is reported in the cycle "
        "after it is first seen, and at most once for each launch",
        blocks=(ExternalStatus,),
        harness=ExternalStatusHarness,
        geometry="workgroup numbers of 3 bits",
        reason="the proof depends on no width",
        depth=2,
        cover_depth=8,
    ),
)
