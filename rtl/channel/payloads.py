"""Payloads between the stages of a channel."""

from amaranth.lib import data

from rtl.interface.configuration import SOURCE_BITS
from rtl.interface.layouts import (
    DramRequest,
    LinkPacket,
    Location,
    Packet,
    StoreRequest,
    TrackerInput,
)
from rtl.parameters import T3Parameters

__all__ = ["EndOfTileMarker", "LocatedPacket", "LocatedStore", "OwnedPacket", "WriteRequest"]


def LocatedStore(p: T3Parameters):
    """A store with its location in place of its context."""
    return _without(StoreRequest(p), "context", location=Location(p))


def LocatedPacket(p: T3Parameters):
    """A packet with its location in place of its context. One that its context does not take from
    this source is ``forbidden``, one of no context ``stray``."""
    return _without(LinkPacket(p), "context", location=Location(p), forbidden=1, stray=1)


def WriteRequest(p: T3Parameters):
    """An access that comes from a store or a packet: what is not the same for all of them."""
    return _without(DramRequest(p), "origin", "tag")


def EndOfTileMarker(p: T3Parameters):
    """What the tracker wants of an end-of-tile marker."""
    return _without(TrackerInput(p), "end", "atom", "count")


def OwnedPacket(p: T3Parameters):
    """A packet for the link, with its context and this GPU's number."""
    return data.StructLayout({"packet": Packet(p), "owner": p.owner_bits, "source": SOURCE_BITS})


def _without(layout: data.StructLayout, *names: str, **more) -> data.StructLayout:
    """The layout without some members, and with others behind."""
    kept = {name: shape for name, shape in layout.members.items() if name not in names}
    return data.StructLayout(kept | more)
