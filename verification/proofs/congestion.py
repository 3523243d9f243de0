"""Proof of the congestion level: channels are sampled in turn, counted, and cleared when idle."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from rtl.parameters import T3Parameters
from rtl.trigger.congestion import Congestion

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_CHANNELS = 4


class CongestionHarness(Elaboratable):
    """Harness with arbitrary inputs."""

    def __init__(self, congestion: type = Congestion):
        self._congestion = congestion

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._congestion(T3Parameters(contexts=1, channels=_CHANNELS))
        free(m, dut.held_up, dut.active, dut.critical, dut.look, dut.count, dut.fade)
        looks, seen = Signal(range(_CHANNELS)), Signal()
        with m.If(dut.look):
            m.d.sync += [looks.eq(looks + 1), seen.eq((dut.held_up >> looks) & 1)]
        level = Signal(range(512))
        m.d.comb += Assume(~dut.fade | ~dut.critical)
        with m.If(dut.count & dut.critical & seen):
            m.d.sync += level.eq(Mux(level > 511 - 7, 511, level + 7))
        with m.Elif(dut.count & dut.critical & (level > 0)):
            m.d.sync += level.eq(level - 1)
        with m.Elif(dut.count & ~dut.active & ~dut.critical):
            m.d.sync += level.eq(0)
        with m.Elif(dut.fade):
            m.d.sync += level.eq(Mux(level > 64, level - 64, 0))
        m.d.comb += [
            Assert(dut.seen == seen, "the sample is not the next channel's"),
            Assert(dut.congested == (level >= 256), "congested: differs from the specification"),
            Cover(dut.level == 20, "the level falls"),
            Cover(dut.turn == _CHANNELS - 1, "the last channel's turn"),
            invariant(dut.turn == looks, "turn: another channel"),
            invariant(dut.level == level, "level: differs"),
        ]
        return m


PROOFS = (
    Proof(
        name="congestion",
        statement="The channels are sampled in turn; samples count only while communication is "
        "critical; the count saturates, falls by 64 with a group of workgroups that was sent while "
        "communication was not critical, and is cleared while no kernel runs",
        blocks=(Congestion,),
        harness=CongestionHarness,
        geometry=f"{_CHANNELS} channels",
        depth=4,
        cover_depth=10,
    ),
)
