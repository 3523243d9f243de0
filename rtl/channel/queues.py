"""The queues between the stages of a channel, and what their payloads are."""

from dataclasses import dataclass

from amaranth.lib import data

from rtl.interface.configuration import SOURCE_BITS
from rtl.interface.layouts import (
    Classified,
    DramRequest,
    LinkPacket,
    Location,
    Packet,
    ReadRequest,
    StoreRequest,
    TrackerInput,
)
from rtl.lib.queue import Queue
from rtl.parameters import T3Parameters

__all__ = ["ChannelQueues"]


@dataclass(frozen=True)
class ChannelQueues:
    """The queues of a channel.

    Attributes
    ----------
    reads : Queue
        Behind the port.
    stores, inbound : Queue
        Behind the ports of stores and packets, with a location in place of the context; a packet
        that its context does not take from this source is ``forbidden``, one of no context
        ``stray``.
    classified : Queue
        Stores with their target.
    writes, updates : Queue
        Accesses to the DRAM that come from stores, and from packets.
    ends : Queue
        End-of-tile markers.
    link, issue : Queue
        Before the ports to the link and to the DRAM; a packet with its context and this GPU's
        number.
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
        located = {"location": Location(p)}
        # What is not the same for all accesses of a stream.
        written = _without(DramRequest(p), "origin", "tag")
        return cls(
            reads=Queue(ReadRequest(p), depth=4),
            stores=Queue(_without(StoreRequest(p), "context", **located), depth=4),
            inbound=Queue(
                _without(LinkPacket(p), "context", **located, forbidden=1, stray=1), depth=4
            ),
            classified=Queue(Classified(p), depth=2),
            writes=Queue(written, depth=4),
            updates=Queue(written, depth=8),
            # What the tracker wants of an end-of-tile marker.
            ends=Queue(_without(TrackerInput(p), "end", "atom", "count"), depth=2),
            link=Queue(
                data.StructLayout(
                    {"packet": Packet(p), "owner": p.owner_bits, "source": SOURCE_BITS}
                ),
                depth=2,
            ),
            issue=Queue(DramRequest(p), depth=2),
        )


def _without(layout: data.StructLayout, *names: str, **more) -> data.StructLayout:
    """The layout without some members, and with others behind."""
    kept = {name: shape for name, shape in layout.members.items() if name not in names}
    return data.StructLayout(kept | more)
