"""Records with the fields of the hardware's payloads and configuration words."""

from collections.abc import Callable

import numpy as np
from amaranth.lib import data

from rtl.interface import configuration, layouts
from rtl.parameters import T3Parameters
from sysmodel.lib.compiled import inlined

from .records import fields_of, record

__all__ = [
    "ADDRESS_SPACE",
    "INBOUND",
    "ARBITER",
    "CANDIDATE",
    "CLASSIFIED",
    "COMMAND",
    "COMPLETION",
    "COPY",
    "DATA_WORDS",
    "DRAM_REQUEST",
    "EVENT",
    "ISSUE_ACK",
    "LAUNCH",
    "LINK_PACKET",
    "LOCATED_PACKET",
    "LOCATED_STORE",
    "LOCATION",
    "NMC_RESULT",
    "PACKET",
    "RANGE",
    "READ",
    "READY",
    "REGION",
    "SEGMENT",
    "SLOT",
    "STORE",
    "TILE",
    "UPDATES",
    "copy_data",
]


def _record(layout: Callable[[T3Parameters], data.StructLayout]) -> np.dtype:
    return record(fields_of(layout(T3Parameters(contexts=1, with_data=True))))


READ = _record(layouts.ReadRequest)
STORE = _record(layouts.StoreRequest)
LOCATION = _record(layouts.Location)
CLASSIFIED = _record(layouts.Classified)
PACKET = _record(layouts.Packet)
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
INBOUND = _record(lambda p: configuration.Inbound())
ARBITER = _record(configuration.ArbiterConfiguration)
DATA_WORDS = PACKET["data"].shape[0]

# A store and a packet with what the lookup's first step found.
LOCATED_STORE = record([("store", STORE), ("location", LOCATION)])
LOCATED_PACKET = record([("packet", PACKET), ("location", LOCATION)], "source forbidden stray")
# An event with the bank that it falls into, and one on its way through that bank.
CANDIDATE = record([("tile", TILE)], "bank")
EVENT = record([("tile", TILE)], "threshold ways lost")
# A packet before the link, with its context and the GPU's number.
LINK_PACKET = record([("packet", PACKET)], "owner source")
# An egress slot.
SLOT = record([("packet", PACKET)], "filled")


@inlined
def copy_data(s, to, source):
    """Copy an atom's data between records of different kinds, if the hardware has them."""
    if s.config.with_data:
        for word in range(DATA_WORDS):
            to.data[word] = source.data[word]
