"""The blocks that are measured: how each is made, and how many of it the hardware has."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from amaranth.lib import wiring

from rtl.channel.address_map import LocationLookup, RangeLookup
from rtl.channel.arbiter import Arbiter
from rtl.channel.channel import ISSUE_ACK_BUFFER, ISSUE_ACK_EVENTS, Channel
from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.channel.issue_ack_queue import IssueAckQueue
from rtl.dma.engine import DmaEngine
from rtl.dma.lane import DmaLane
from rtl.link.endpoint import LinkEndpoint
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters
from rtl.registers.map_table import MapTable
from rtl.registers.port import Registers
from rtl.top import T3
from rtl.tracker.bank import TrackerBank
from rtl.tracker.front import TrackerFront
from rtl.tracker.tracker import Tracker
from rtl.trigger.credit_window import CreditWindow
from rtl.trigger.trigger import Trigger
from sysmodel.config.system import load_system

from .elaboration import rtlil_text

__all__ = ["BLOCKS", "REFERENCE", "Block"]

REFERENCE = load_system().hardware(channels=32, with_data=True)
"""One GPU of the paper's system."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block to measure.

    Parameters
    ----------
    name : str
    make : callable
        The component at given parameters.
    boxes : tuple of str
        Classes of its parts that are measured as blocks of their own, and left out here.
    count : callable
        How many the hardware has.
    inside : str
        Block that this one is a part of and is counted with.
    apart : bool
        Not counted with the whole: the arithmetic in memory.
    instead_of : str
        Block that this one replaces in hardware without data; not counted with the whole.
    tracks : bool
        Belongs to the tracker.
    in_area, in_timing : bool
        What it is measured for.
    limit_fo4 : float
        Longest path that is allowed.
    """

    name: str
    make: Callable[[T3Parameters], wiring.Component]
    boxes: tuple[str, ...] = ()
    count: Callable[[T3Parameters], int] = lambda p: 1
    inside: str = ""
    apart: bool = False
    instead_of: str = ""
    tracks: bool = False
    in_area: bool = True
    in_timing: bool = True
    limit_fo4: float = 40.0

    def rtlil(self, p: T3Parameters) -> str:
        return rtlil_text(self.make(p), self.boxes)


def _channels(p: T3Parameters) -> int:
    return p.channels


def _lookups(p: T3Parameters) -> int:
    """One for stores and one for packets."""
    return 2 * p.channels


_SHORT_FO4 = 30.0

BLOCKS = (
    Block(name="tracker front", make=TrackerFront, tracks=True, limit_fo4=_SHORT_FO4),
    Block(
        name="tracker bank",
        make=TrackerBank,
        count=lambda p: p.banks,
        tracks=True,
        limit_fo4=_SHORT_FO4,
    ),
    Block(
        name="tracker glue",
        make=Tracker,
        boxes=("TrackerFront", "TrackerBank"),
        tracks=True,
        limit_fo4=_SHORT_FO4,
    ),
    # Fewer banks: what one more adds to a path is in the front and in the glue.
    Block(
        name="tracker of 4 banks, flat",
        make=lambda p: Tracker(replace(p, banks=min(p.banks, 4))),
        in_area=False,
        limit_fo4=_SHORT_FO4,
    ),
    Block(name="trigger", make=Trigger),
    Block(name="credit_window", make=CreditWindow),
    Block(name="registers", make=Registers),
    Block(name="map table", make=MapTable, inside="registers"),
    Block(name="DMA engine", make=DmaEngine),
    Block(name="channel", make=Channel, boxes=("NmcUnit",), count=_channels),
    Block(name="location lookup", make=LocationLookup, count=_lookups, inside="channel"),
    Block(name="range lookup", make=RangeLookup, count=_lookups, inside="channel"),
    Block(name="arbiter", make=Arbiter, count=_channels, inside="channel", limit_fo4=_SHORT_FO4),
    Block(
        name="issue acknowledgement queue",
        make=lambda p: IssueAckQueue(p, depth=ISSUE_ACK_EVENTS),
        count=_channels,
        inside="channel",
    ),
    Block(
        name="issue acknowledgement buffer",
        make=lambda p: IssueAckBuffer(p, depth=ISSUE_ACK_BUFFER),
        count=_channels,
        inside="channel",
    ),
    Block(name="DMA lane", make=DmaLane, count=_channels, inside="channel"),
    Block(
        name="channel without data",
        make=lambda p: Channel(replace(p, with_data=False)),
        count=_channels,
        instead_of="channel",
    ),
    Block(
        name="top glue",
        make=T3,
        boxes=("Registers", "Tracker", "Trigger", "CreditWindow", "DmaEngine", "Channel"),
    ),
    Block(
        name="top of one channel, flat",
        make=lambda p: T3(replace(p, channels=1, with_data=False)),
        in_area=False,
    ),
    Block(name="NMC unit", make=NmcUnit, count=_channels, apart=True),
    Block(
        name="link endpoint", make=LinkEndpoint, count=_channels, apart=True, limit_fo4=_SHORT_FO4
    ),
)
