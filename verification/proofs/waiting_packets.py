"""Proof of the packets that wait while a context changes: nothing follows upon the change before
they have left.
"""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal

from rtl.channel.monitor import ChannelMonitor

from .channel import PARAMETERS_OF_TWO
from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_DEPTH = 2  # of the inbound queue
_EVENTS: tuple[str, ...] = ("store", "update", "copy", "store_retired", "routed", "marked", "lost")
_EVENTS += ("counted", "written", "to_link", "from_link")


class WaitingHarness(Elaboratable):
    """Harness of the monitor beside an inbound queue, of which it observes one arbitrary packet.

    All events, changes and packets are arbitrary. The observed packet is *outdated* once an
    arbitrary context has changed while the packet was in the queue.
    """

    def __init__(self, monitor: type = ChannelMonitor):
        self._monitor = monitor

    def elaborate(self, platform):
        m = Module()
        p = PARAMETERS_OF_TWO
        m.submodules.dut = dut = self._monitor(p)
        free(m, *(getattr(dut, name) for name in _EVENTS), dut.count, dut.changes, dut.checked)
        free(m, dut.lane_idle, dut.remote, dut.memory_owes)
        comes, context = Signal(), AnyConst(1)
        level, place, outdated = Signal(2), Signal(2), Signal()
        free(m, comes)
        m.d.comb += dut.inbound.eq(level)
        m.d.sync += level.eq(level + comes - dut.checked)
        with m.If(place == 0):
            with m.If(AnySeq(1) & comes):
                m.d.sync += place.eq(level - dut.checked + 1)
        with m.Elif(dut.checked):
            m.d.sync += place.eq(place - 1)
        changes, older = dut.changes.bit_select(context, 1), Signal(2)
        with m.Switch(context):
            for number, one in enumerate(dut.older):
                with m.Case(number):
                    m.d.comb += older.eq(one)
        waits = place != 0
        m.d.sync += outdated.eq(waits & ~(dut.checked & (place == 1)) & (outdated | changes))
        held = waits & (outdated | changes)
        for name in ("idle", "drained", "stores_drained"):
            rests = getattr(dut, name).bit_select(context, 1)
            m.d.comb += [
                Assert(~(held & rests), f"{name}: a packet waits from before a change"),
                Cover(waits & rests, f"{name}: while a packet waits"),
            ]
        since = Signal(2)  # packets that have left since the last change
        with m.If(changes):
            m.d.sync += since.eq(dut.checked)
        with m.Elif(dut.checked & (since != _DEPTH)):
            m.d.sync += since.eq(since + 1)
        m.d.comb += [
            Assume(~comes | (level != _DEPTH)),
            Assume(~dut.checked | (level != 0)),
            Assert((since != _DEPTH) | (older == 0), "packets from after the change count"),
            Cover(outdated & (place == 1) & dut.checked, "the packet leaves"),
            invariant(level <= _DEPTH, "level"),
            invariant(place <= level, "place"),
            invariant(~outdated | (place <= older), "the packet is not among those that count"),
            invariant(older <= level, "more packets than there are"),
            invariant(older + since <= _DEPTH, "packets since the change"),
        ]
        return m


PROOFS = (
    Proof(
        name="waiting-packets",
        statement="While a packet is in the inbound queue that was located before the last change "
        "of a context's state (abort, launch, closed regions), the context is neither idle nor "
        "drained in the channel, nor have its stores drained; two packets later this holds no "
        "more, however many packets come",
        blocks=(ChannelMonitor,),
        harness=WaitingHarness,
        geometry="2 contexts, addresses of 6 bits",
        reason="the proof depends on no width",
        depth=1,
        cover_depth=6,
    ),
)
