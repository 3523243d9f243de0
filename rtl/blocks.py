"""Blocks of the hardware that are exported, measured, proven and tested on their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from amaranth.lib import wiring

from .channel.address_map import LocationLookup, RangeLookup
from .channel.arbitration.arbiter import Arbiter
from .channel.channel import ISSUE_ACK_BUFFER, ISSUE_ACK_EVENTS, Channel
from .channel.issue_ack_buffer import IssueAckBuffer
from .channel.issue_ack_queue import IssueAckQueue
from .context.peer_status import PeerStatus
from .dma.engine import DmaEngine
from .dma.lane import DmaLane
from .link.endpoint import LinkEndpoint
from .link.parameters import LinkParameters
from .nmc.unit import NmcUnit
from .parameters import T3Parameters
from .registers.map_table import MapTable
from .registers.port import Registers
from .top import T3
from .tracker.bank import TrackerBank
from .tracker.front import TrackerFront
from .tracker.tracker import Tracker
from .trigger.credit_window import CreditWindow
from .trigger.criticality import Criticality
from .trigger.range_limits import RangeLimits
from .trigger.trigger import Trigger

__all__ = ["BLOCKS", "TOP", "Block"]

TOP = "top"


@dataclass(frozen=True, kw_only=True)
class Block:
    """Block of the hardware, made from the hardware's parameters.

    Parameters
    ----------
    kind : type
        Class of the block.
    arguments : mapping
        Arguments of the class besides the parameters, as in the hardware.
    needs_data : bool
        Only hardware with data contains the block.
    is_exported : bool
        The block is useful without the top.
    has_link : bool
        The block takes link parameters.
    """

    kind: type[wiring.Component]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    needs_data: bool = False
    is_exported: bool = True
    has_link: bool = False

    def make(
        self, p: T3Parameters, link: LinkParameters | None = None, **variant: Any
    ) -> wiring.Component:
        arguments = {"link": link} if self.has_link else {}
        return self.kind(p, **self.arguments, **arguments, **variant)


BLOCKS: Mapping[str, Block] = MappingProxyType(
    {
        TOP: Block(kind=T3, has_link=True),
        "channel": Block(kind=Channel),
        "location_lookup": Block(kind=LocationLookup),
        "range_lookup": Block(kind=RangeLookup),
        "arbiter": Block(kind=Arbiter),
        "issue_ack_queue": Block(kind=IssueAckQueue, arguments={"depth": ISSUE_ACK_EVENTS}),
        "issue_ack_buffer": Block(
            kind=IssueAckBuffer, arguments={"depth": ISSUE_ACK_BUFFER}, is_exported=False
        ),
        "dma_lane": Block(kind=DmaLane),
        "dma_engine": Block(kind=DmaEngine),
        "tracker": Block(kind=Tracker),
        "tracker_front": Block(kind=TrackerFront),
        "tracker_bank": Block(kind=TrackerBank),
        "trigger": Block(kind=Trigger),
        "credit_window": Block(kind=CreditWindow),
        "range_limits": Block(kind=RangeLimits),
        "peer_status": Block(kind=PeerStatus),
        "criticality": Block(kind=Criticality),
        "registers": Block(kind=Registers),
        "map_table": Block(kind=MapTable, is_exported=False),
        "nmc_unit": Block(kind=NmcUnit, needs_data=True),
        "link_endpoint": Block(kind=LinkEndpoint, has_link=True),
    }
)
"""Blocks by name: the top first, then in the order of their export."""
