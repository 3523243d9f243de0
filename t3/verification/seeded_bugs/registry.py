"""All seeded bugs."""

from .address_map import LOCATION_LOOKUP, RANGE_LOOKUP
from .arbiter import ARBITER
from .bug import SeededBug
from .channel import CHANNEL
from .credit_window import CREDIT_WINDOW
from .dma_engine import DMA_ENGINE
from .dma_lane import DMA_LANE
from .issue_ack_buffer import ISSUE_ACK_BUFFER
from .issue_ack_queue import ISSUE_ACK_QUEUE
from .link_receiver import LINK_RECEIVER
from .link_sender import LINK_SENDER
from .protected_memory import PROTECTED_MEMORY
from .protected_queue import PROTECTED_QUEUE
from .queue import QUEUE
from .ring_node import RING_NODE
from .round_robin import MERGE, MERGE2, PICK
from .secded import SECDED_CHECK
from .tracker_bank import TRACKER_BANK
from .tracker_front import TRACKER_FRONT
from .tracker_table import TRACKER_TABLE
from .trigger import TRIGGER

__all__ = ["SEEDED_BUGS"]

SEEDED_BUGS: tuple[SeededBug, ...] = (
    LOCATION_LOOKUP,
    RANGE_LOOKUP,
    ARBITER,
    LINK_RECEIVER,
    LINK_SENDER,
    ISSUE_ACK_QUEUE,
    MERGE,
    MERGE2,
    PICK,
    QUEUE,
    CREDIT_WINDOW,
    CHANNEL,
    DMA_ENGINE,
    DMA_LANE,
    RING_NODE,
    TRIGGER,
    ISSUE_ACK_BUFFER,
    PROTECTED_MEMORY,
    PROTECTED_QUEUE,
    SECDED_CHECK,
    TRACKER_BANK,
    TRACKER_FRONT,
    TRACKER_TABLE,
)
