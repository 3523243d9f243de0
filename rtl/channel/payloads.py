"""Payloads between the stages of a channel."""

from amaranth.lib import data

from rtl.interface.layouts import (
    DramRequest,
    LinkPacket,
    Location,
    StoreRequest,
    TrackerInput,
)
from rtl.parameters import T3Parameters

__all__ = ["EndOfTileMarker", "LocatedPacket", "LocatedStore", "WriteRequest"]


def LocatedStore(p: T3Parameters):
    """Store with its location in place of its context."""
    return _without(StoreRequest(p), "context", location=Location(p))


def LocatedPacket(p: T3Parameters):
    """Packet of the link with its location in place of its context.

    ``unowned`` is set if it belongs to no context, ``early`` if its context had no launch when it
    arrived."""
    return _without(
        LinkPacket(p), "destination", "context", location=Location(p), unowned=1, early=1
    )


def WriteRequest(p: T3Parameters):
    """Access made from a store or a packet, without the fields that are constant for these."""
    return _without(DramRequest(p), "origin", "tag")


def EndOfTileMarker(p: T3Parameters):
    """Fields of an end-of-tile marker that the tracker uses."""
    return _without(TrackerInput(p), "end", "atom", "count")


def _without(layout: data.StructLayout, *names: str, **more) -> data.StructLayout:
    """Derive a layout without some members and with others appended."""
    kept = {name: shape for name, shape in layout.members.items() if name not in names}
    return data.StructLayout(kept | more)
