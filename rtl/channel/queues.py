# amaranth: UnusedElaboratable=no
"""The queues between the stages of a channel."""

from dataclasses import dataclass

from rtl.interface.layouts import Classified, DramRequest, ReadRequest
from rtl.lib.queue import Queue
from rtl.parameters import T3Parameters

from .payloads import EndOfTileMarker, LocatedPacket, LocatedStore, OwnedPacket, WriteRequest

__all__ = ["ChannelQueues"]


@dataclass(frozen=True)
class ChannelQueues:
    """The queues of a channel.

    Attributes
    ----------
    reads : Queue
        Behind the port.
    stores, inbound : Queue
        Behind the ports of stores and packets.
    classified : Queue
        Stores with their target.
    writes, updates : Queue
        Accesses to the DRAM that come from stores, and from packets.
    ends : Queue
        End-of-tile markers.
    link, issue : Queue
        Before the ports to the link and to the DRAM.
    """

    reads: Queue
    writes: Queue
    updates: Queue
    link: Queue
    issue: Queue
    classified: Queue
    stores: Queue
    ends: Queue
    inbound: Queue

    @classmethod
    def of(cls, p: T3Parameters) -> "ChannelQueues":
        """New queues."""
        return cls(
            reads=Queue(ReadRequest(p), depth=4),
            stores=Queue(LocatedStore(p), depth=4),
            inbound=Queue(LocatedPacket(p), depth=4),
            classified=Queue(Classified(p), depth=2),
            writes=Queue(WriteRequest(p), depth=4),
            updates=Queue(WriteRequest(p), depth=8),
            ends=Queue(EndOfTileMarker(p), depth=2),
            link=Queue(OwnedPacket(p), depth=2),
            issue=Queue(DramRequest(p), depth=2),
        )
