"""Layouts of the payloads, as records with the fields of the hardware's layouts."""

from collections.abc import Callable
from typing import Any

import numpy as np
from amaranth.lib import data

from rtl.interface import configuration, layouts
from rtl.parameters import T3Parameters

from ..records import fields_of, record

__all__ = [
    "ADDRESS_SPACE",
    "ARBITER",
    "CANDIDATE",
    "CLASSIFIED",
    "COMMAND",
    "COMPLETION",
    "COPY",
    "DATA_WORDS",
    "DRAM_REQUEST",
    "INBOUND",
    "ISSUE_ACK",
    "LAUNCH",
    "LINK_PACKET",
    "LOCATED_PACKET",
    "LOCATED_STORE",
    "LOCATION",
    "MOST_PEERS",
    "NMC_RESULT",
    "PACKET",
    "PEER",
    "RANGE",
    "READ",
    "READY",
    "REGION",
    "SEGMENT",
    "STORE",
    "TILE",
    "UPDATES",
]


def _record(layout: Callable[[T3Parameters], data.StructLayout]) -> np.dtype[Any]:
    return record(fields_of(layout(T3Parameters(contexts=1, with_data=True))))


READ = _record(layouts.ReadRequest)
STORE = _record(layouts.StoreRequest)
LOCATION = _record(layouts.Location)
CLASSIFIED = _record(layouts.Classified)
PACKET = _record(layouts.Packet)
_ON_LINK = _record(layouts.LinkPacket)
DRAM_REQUEST = _record(layouts.DramRequest)
ISSUE_ACK = _record(layouts.IssueAck)
UPDATES = _record(layouts.TileUpdates)
TILE = _record(layouts.TrackerInput)
COMPLETION = _record(layouts.Completion)
READY = _record(layouts.ReadyCommand)
COPY = _record(layouts.Copy)
SEGMENT = _record(layouts.Segment)
NMC_RESULT = _record(layouts.NmcResult)
REGION = _record(configuration.RegionEntry)
RANGE = _record(configuration.RangeEntry)
COMMAND = _record(configuration.CommandEntry)
LAUNCH = _record(configuration.LaunchConfiguration)
ADDRESS_SPACE = _record(configuration.AddressSpace)
PEER = _record(configuration.PeerEntry)
INBOUND = _record(lambda p: configuration.Inbound())
ARBITER = _record(configuration.ArbiterConfiguration)
DATA_WORDS: int = PACKET["data"].shape[0]
MOST_PEERS: int = T3Parameters(contexts=1).peers
"""Entries of a context's table of peers in the state; an instance may use fewer."""

LOCATED_STORE = record([("store", STORE), ("location", LOCATION)])
"""Store with the result of the first step of the address map."""
LOCATED_PACKET = record([("packet", _ON_LINK), ("location", LOCATION)], "unowned early")
"""Packet from the link with the result of the first step of the address map."""
CANDIDATE = record([("tile", TILE)], "bank")
"""Event of a tile with the number of its tracker bank."""
LINK_PACKET = record([("packet", _ON_LINK)], "owner")
"""Packet for the link, with its context."""
