"""Queue of a channel's end-of-tile markers, from stores and from packets."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.queue import Queue
from rtl.lib.round_robin import Merge2
from rtl.parameters import T3Parameters

from .payloads import EndOfTileMarker

__all__ = ["EndQueue"]

_DEPTH = 2


class EndQueue(wiring.Component):
    """Queue of end-of-tile markers in front of the tracker. Markers of stores and of packets take
    turns, so that neither a kernel nor a neighbour holds up the other's.

    Members
    -------
    stores, packets : In(stream)
        Markers. ``ready`` of one depends on ``valid`` of the other.
    drop : In(1)
        Discard the packet's marker as it is taken. It may arrive late in a cycle.
    o : Out(stream)

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    merge : Merge2
    queue : Queue
    """

    def __init__(self, p: T3Parameters):
        marker = EndOfTileMarker(p)
        super().__init__(
            {
                "stores": In(stream.Signature(marker)),
                "packets": In(stream.Signature(marker)),
                "drop": In(1),
                "o": Out(stream.Signature(marker)),
                "clock_enable": Out(1),
            }
        )
        self.merge = Merge2(marker)
        self.queue = Queue(marker, depth=_DEPTH)

    def elaborate(self, platform):
        m = Module()
        m.submodules.merge, m.submodules.queue = merge, queue = self.merge, self.queue
        wiring.connect(m, wiring.flipped(self.stores), merge.a)
        wiring.connect(m, wiring.flipped(self.packets), merge.b)
        wiring.connect(m, merge.o, queue.i)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        m.d.comb += [
            queue.drop.eq(merge.b.ready & self.drop),
            self.clock_enable.eq(queue.clock_enable),
        ]
        return m
