"""Proofs of a peer's status: its aborts, and numbers that wrap."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, signed

from rtl.context.peer_status import PeerStatus
from rtl.parameters import T3Parameters

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_P = T3Parameters(contexts=1, sets=1, ways=2, workgroup_bits=3, credit_window=2)
_MOST = (1 << _P.credit_limit_bits) - 1


def _free_inputs(m: Module, dut: PeerStatus) -> None:
    """Leave all inputs free, but for the generation of the last cycle."""
    free(m, dut.enable, dut.launch, dut.launched, dut.launch_generation, dut.credit_limit_in)
    free(m, dut.generation_in, dut.aborted_in)
    before = Signal.like(dut.generation, name="generation_before")
    m.d.sync += before.eq(dut.launch_generation)
    m.d.comb += dut.generation.eq(before)


class ReportHarness(Elaboratable):
    """Harness of the report of an abort, with arbitrary inputs."""

    def __init__(self, status: type = PeerStatus):
        self._status = status

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._status(_P)
        _free_inputs(m, dut)
        ahead = Signal(4)
        m.d.comb += ahead.eq(dut.generation_in - dut.launch_generation)
        shows = Signal()
        with m.Switch(ahead):
            for back in range(8):
                with m.Case(back):
                    m.d.comb += shows.eq(dut.enable & dut.launched & dut.aborted_in[back])
        # Since the launch began: the last cycle showed an abort, none was shown before, one was
        # reported.
        showed, before, certain, reported = Signal(), Signal(), Signal(), Signal()
        was_enabled = Signal()
        m.d.sync += [
            was_enabled.eq(dut.enable),
            showed.eq(shows & ~dut.launch),
            before.eq(Mux(dut.launch, shows, before | shows)),
            certain.eq(shows & ~dut.launch & ~before & ~dut.stale),
            reported.eq(~dut.launch & (reported | dut.aborts)),
        ]
        m.d.comb += [
            Assert(~dut.aborts | showed, "a report without an abort of the launch"),
            Assert(was_enabled | (dut.admitted == 0), "a peer that is not enabled admits"),
            Assert(~dut.aborts | ~reported, "a launch's abort is reported twice"),
            Assert(~certain | dut.aborts | reported, "an abort is not reported when it is shown"),
            invariant(dut.seen == (reported | dut.aborts), "seen: differs"),
            invariant(~dut.old | before, "old: without an abort"),
            Cover(dut.aborts & (dut.aborted_in == 0), "an abort goes away"),
            Cover(dut.aborts & dut.launch, "a report as the next launch begins"),
        ]
        return m


class DistanceHarness(Elaboratable):
    """Harness that counts the distance of the peer without wrapping.

    The peer's generation advances by any number between two words that show it. The distance is
    counted from the first time on that the peer admits something when it looks at most 8 behind,
    and is counted anew when it does so after it was further behind.
    """

    def __init__(self, status: type = PeerStatus):
        self._status = status

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._status(_P)
        _free_inputs(m, dut)
        step, shows, admits = Signal(4), Signal(), Signal()
        looks = Signal(signed(4))
        advance, (lead, moved, now) = Signal(5), (Signal(signed(9), name=n) for n in "lmn")
        counts, known = Signal(), Signal()
        free(m, advance)
        last = dut.peer_launch.generation
        m.d.comb += [
            admits.eq(dut.enable & (dut.credit_limit_in != 0)),
            shows.eq(admits | (dut.enable & (dut.aborted_in != 0))),
            step.eq(Mux(dut.launch, dut.launch_generation - dut.generation, 0)),
            looks.eq(Mux(shows, dut.generation_in, last) - dut.launch_generation),
            known.eq(admits & dut.launched & (looks <= 0)),
            moved.eq(lead - step + Mux(shows, advance, 0)),
            now.eq(Mux(counts & ~(known & (moved < -8)), moved, looks)),
            Assume(dut.launch | (dut.launch_generation == dut.generation)),
            Assume(~dut.launch | ((step != 0) & (step < 8))),
            Assume(~shows | ~counts | (dut.generation_in == (last + advance)[:4])),
            Assume((lead > -200) & (lead < 200)),
            Assume(dut.credit_limit_in != _MOST),  # stands for everything at the output
        ]
        m.d.sync += [lead.eq(now), counts.eq(counts | known)]
        m.d.comb += [
            Assert(~counts | (dut.admitted != _MOST) | (lead > 0), "a peer behind admits all"),
            Assert(counts | (dut.admitted != _MOST), "an unknown peer admits all"),
            invariant(~dut.is_near | counts, "is_near: without a distance"),
            invariant(~dut.is_near | (lead >= -8), "is_near: far behind"),
            invariant(~counts | ((dut.generation + lead)[:4] == last), "lead: differs"),
            Cover(dut.is_near & (lead > 0) & (dut.admitted == _MOST), "ahead"),
            Cover(counts & ~dut.is_near, "far behind"),
        ]
        return m


PROOFS = (
    Proof(
        name="peer-status",
        statement="An abort of a peer in the current launch is reported in the cycle "
        "after it is first shown, unless it may be older than the launch; at most once for each "
        "launch, and only if an enabled peer shows it; a peer that is not enabled admits nothing",
        blocks=(PeerStatus,),
        harness=ReportHarness,
        geometry="workgroup numbers of 3 bits",
        reason="the proof depends on no width",
        depth=2,
        cover_depth=8,
    ),
    Proof(
        name="peer-status-distance",
        statement="A peer admits everything only if it has passed this launch, however "
        "many launches begin here while it admits nothing",
        blocks=(PeerStatus,),
        harness=DistanceHarness,
        geometry="workgroup numbers of 3 bits; fewer than 200 launches apart",
        reason="the proof depends on no width",
        depth=2,
        cover_depth=8,
    ),
)
