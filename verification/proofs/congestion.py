"""Congestion: every channel in turn, counted as the contract says, forgotten without a kernel."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from rtl.parameters import T3Parameters
from rtl.trigger.congestion import Congestion

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_CHANNELS = 4


class CongestionHarness(Elaboratable):
    """All inputs do what they like."""

    def __init__(self, congestion: type = Congestion):
        self._congestion = congestion

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._congestion(T3Parameters(contexts=1, channels=_CHANNELS))
        free(m, dut.held_up, dut.active, dut.critical, dut.look, dut.count)
        looks, seen = Signal(range(_CHANNELS)), Signal()
        with m.If(dut.look):
            m.d.sync += [looks.eq(looks + 1), seen.eq((dut.held_up >> looks) & 1)]
        level = Signal(range(512))
        with m.If(dut.count & dut.critical & seen):
            m.d.sync += level.eq(Mux(level > 511 - 7, 511, level + 7))
        with m.Elif(dut.count & dut.critical & (level > 0)):
            m.d.sync += level.eq(level - 1)
        with m.Elif(dut.count & ~dut.active & ~dut.critical):
            m.d.sync += level.eq(0)
        m.d.comb += [
            Assert(dut.seen == seen, "another channel than the next was looked at"),
            Assert(dut.congested == (level >= 256), "congested: not as specified"),
            Cover(dut.level == 20, "congestion falls"),
            Cover(dut.turn == _CHANNELS - 1, "the last channel's turn"),
            invariant(dut.turn == looks, "another channel's turn"),
            invariant(dut.level == level, "another level"),
        ]
        return m


PROOFS = (
    Proof(
        name="congestion",
        statement="Each channel is looked at in its turn; what was seen counts only while "
        "communication is critical, saturates, and is forgotten where no kernel runs",
        blocks=(Congestion,),
        harness=CongestionHarness,
        geometry=f"{_CHANNELS} channels",
        depth=4,
        cover_depth=10,
    ),
)
