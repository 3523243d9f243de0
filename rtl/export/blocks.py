"""The blocks that are exported by themselves: what an engineer would reuse without the top."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from amaranth.lib import wiring

from rtl.channel.address_map import LocationLookup, RangeLookup
from rtl.channel.arbiter import Arbiter
from rtl.channel.channel import ISSUE_ACK_EVENTS, Channel
from rtl.channel.issue_ack_queue import IssueAckQueue
from rtl.dma.engine import DmaEngine
from rtl.dma.lane import DmaLane
from rtl.link.endpoint import LinkEndpoint
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters
from rtl.registers.port import Registers
from rtl.top import T3
from rtl.tracker.bank import TrackerBank
from rtl.tracker.front import TrackerFront
from rtl.tracker.tracker import Tracker
from rtl.trigger.credit_window import CreditWindow
from rtl.trigger.trigger import Trigger

__all__ = ["BLOCKS", "TOP", "WITH_DATA", "Block"]

TOP = "t3"

Block = Callable[[T3Parameters], wiring.Component]

BLOCKS: Mapping[str, Block] = MappingProxyType(
    {
        TOP: T3,
        "channel": Channel,
        "location_lookup": LocationLookup,
        "range_lookup": RangeLookup,
        "arbiter": Arbiter,
        "issue_ack_queue": lambda p: IssueAckQueue(p, depth=ISSUE_ACK_EVENTS),
        "dma_lane": DmaLane,
        "dma_engine": DmaEngine,
        "tracker": Tracker,
        "tracker_front": TrackerFront,
        "tracker_bank": TrackerBank,
        "trigger": Trigger,
        "credit_window": CreditWindow,
        "registers": Registers,
        "nmc_unit": NmcUnit,
        "link_endpoint": LinkEndpoint,
    }
)
"""How to make each block, by the name of its module; the top is first."""

WITH_DATA = frozenset({"nmc_unit"})
"""Blocks that only hardware with data has."""
