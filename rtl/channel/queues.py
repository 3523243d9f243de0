"""Queues between the stages of a channel."""

from dataclasses import dataclass

from rtl.interface.layouts import Classified, DramRequest, OwnedPacket, ReadRequest
from rtl.lib.queue import Queue
from rtl.parameters import T3Parameters

from .end_queue import EndQueue
from .payloads import LocatedPacket, LocatedStore, WriteRequest

__all__ = ["ChannelQueues"]

# Two entries sustain a payload per cycle. Deeper queues cost flip-flops for each bit of an atom,
# and do not shorten a run.
_DEPTH = 2


@dataclass(frozen=True)
class ChannelQueues:
    """The queues of a channel.

    Attributes
    ----------
    reads : Queue
        Reads, behind the port.
    stores, inbound : Queue
        Stores and packets with their locations, behind the ports.
    classified : Queue
        Stores with their target.
    writes, updates : Queue
        DRAM accesses made from stores, and from packets.
    ends : EndQueue
        End-of-tile markers, of stores and of packets.
    link, issue : Queue
        Packets and accesses in front of the ports to the link and to the DRAM.
    """

    reads: Queue
    writes: Queue
    updates: Queue
    link: Queue
    issue: Queue
    classified: Queue
    stores: Queue
    ends: EndQueue
    inbound: Queue

    @classmethod
    def of(cls, p: T3Parameters) -> "ChannelQueues":
        """Create the queues of a channel."""
        return cls(
            reads=Queue(ReadRequest(p), depth=_DEPTH),
            stores=Queue(LocatedStore(p), depth=_DEPTH),
            inbound=Queue(LocatedPacket(p), depth=_DEPTH),
            classified=Queue(Classified(p), depth=_DEPTH),
            writes=Queue(WriteRequest(p), depth=_DEPTH),
            updates=Queue(WriteRequest(p), depth=_DEPTH),
            ends=EndQueue(p),
            link=Queue(OwnedPacket(p), depth=_DEPTH),
            issue=Queue(DramRequest(p), depth=_DEPTH),
        )
