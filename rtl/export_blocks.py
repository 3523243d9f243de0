"""The blocks that are exported by themselves: what an engineer would reuse without the top."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from amaranth.lib import wiring

from .address_map import LocationLookup, RangeLookup
from .arbiter import Arbiter
from .channel import NOTICE_EVENTS, Channel
from .dma import DmaEngine
from .dma_lane import DmaLane
from .link_endpoint import LinkEndpoint
from .nmc import NmcUnit
from .notice_queue import NoticeQueue
from .parameters import T3Parameters
from .registers import Registers
from .top import T3
from .tracker import Tracker
from .tracker_bank import TrackerBank
from .tracker_front import TrackerFront
from .trigger import Trigger
from .window import Window

__all__ = ["BLOCKS", "TOP", "WITH_PAYLOAD", "Block"]

TOP = "t3"

Block = Callable[[T3Parameters], wiring.Component]

BLOCKS: Mapping[str, Block] = MappingProxyType(
    {
        TOP: T3,
        "channel": Channel,
        "location_lookup": LocationLookup,
        "range_lookup": RangeLookup,
        "arbiter": Arbiter,
        "notice_queue": lambda p: NoticeQueue(p, depth=NOTICE_EVENTS),
        "dma_lane": DmaLane,
        "dma_engine": DmaEngine,
        "tracker": Tracker,
        "tracker_front": TrackerFront,
        "tracker_bank": TrackerBank,
        "trigger": Trigger,
        "window": Window,
        "registers": Registers,
        "nmc_unit": NmcUnit,
        "link_endpoint": LinkEndpoint,
    }
)
"""How to make each block, by the name of its module; the top is first."""

WITH_PAYLOAD = frozenset({"nmc_unit"})
"""Blocks that hardware without payload does not have."""
