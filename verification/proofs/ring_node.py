"""Node of a ring: the smallest GPU that can still deadlock."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.channel.arbitration.arbiter import Arbiter
from rtl.dma.lane import DmaLane
from rtl.interface.encodings import Access, Origin
from rtl.interface.layouts import DramRequest, Packet, ReadReturn
from rtl.lib.queue import Queue
from rtl.lib.round_robin import Merge2
from rtl.parameters import T3Parameters

__all__ = ["RingNode"]

_DUE_BITS = 5  # enough for the cycles of a bounded proof


class RingNode(wiring.Component):
    """Blocks of a channel, connected as in the channel, with the smallest queue depths.

    Blocks outside the packet path are left out: lookups, tracker, trigger unit and engine. The
    input ``triggers`` makes an update at the DRAM start the command of one atom.

    Members
    -------
    link_in, link_out : stream
    stores : In(stream)
        Remote updates of this GPU's stores.
    reads : In(stream)
        Reads of the compute stream.
    dram : Out(stream)
    triggers : In(1)
        Signal that the update taken at ``dram`` in this cycle completes a tile.
    returns : In(stream)
    idle : Out(1)
        Signal that the node holds nothing except compute reads.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "link_in": In(stream.Signature(Packet(p))),
                "link_out": Out(stream.Signature(Packet(p))),
                "stores": In(stream.Signature(Packet(p))),
                "reads": In(stream.Signature(DramRequest(p))),
                "dram": Out(stream.Signature(DramRequest(p))),
                "triggers": In(1),
                "returns": In(stream.Signature(ReadReturn(p), always_ready=True)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p = self._p
        m.submodules.inbound = inbound = Queue(Packet(p), depth=2)
        m.submodules.remote = remote = Queue(Packet(p), depth=2)
        m.submodules.link = link = Queue(Packet(p), depth=2)
        m.submodules.issue = issue = Queue(DramRequest(p), depth=2)
        m.submodules.lane = lane = DmaLane(p)
        m.submodules.arbiter = arbiter = Arbiter(p)
        m.submodules.communication = communication = Merge2(DramRequest(p))
        m.submodules.to_link = to_link = Merge2(Packet(p))
        wiring.connect(m, wiring.flipped(self.link_in), inbound.i)
        wiring.connect(m, wiring.flipped(self.stores), remote.i)
        wiring.connect(m, wiring.flipped(self.reads), arbiter.compute)
        wiring.connect(m, wiring.flipped(self.returns), lane.returns)
        wiring.connect(m, remote.o, to_link.a)
        wiring.connect(m, lane.sends, to_link.b)
        wiring.connect(m, to_link.o, link.i)
        wiring.connect(m, link.o, wiring.flipped(self.link_out))
        wiring.connect(m, lane.reads, communication.b)
        wiring.connect(m, communication.o, arbiter.communication)
        wiring.connect(m, arbiter.o, issue.i)
        wiring.connect(m, issue.o, wiring.flipped(self.dram))
        goes = Signal()
        m.d.comb += [
            goes.eq(inbound.o.valid),
            communication.a.valid.eq(goes),
            inbound.o.ready.eq(communication.a.ready & goes),
            communication.a.p.access.eq(Access.UPDATE),
            communication.a.p.origin.eq(Origin.COMMUNICATION),
        ]

        due = Signal(_DUE_BITS)
        m.d.sync += due.eq(due + self.triggers - (lane.segments.valid & lane.segments.ready))
        m.d.comb += [
            lane.segments.valid.eq(due != 0),
            lane.segments.p.length.eq(1),
            self.idle.eq(
                ~(inbound.o.valid | remote.o.valid | link.o.valid | (due != 0))
                & lane.idle
                & ~(issue.o.valid & (issue.o.p.origin == Origin.COMMUNICATION))
            ),
        ]
        return m
