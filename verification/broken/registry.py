"""All broken copies."""

from .address_map import LOCATION_LOOKUP, RANGE_LOOKUP
from .arbiter import ARBITER
from .copy import BrokenCopy
from .link_receiver import LINK_RECEIVER
from .link_sender import LINK_SENDER
from .notice_queue import NOTICE_QUEUE
from .queue import QUEUE
from .round_robin import MERGE, MERGE2, PICK
from .window import WINDOW

__all__ = ["BROKEN"]

BROKEN: tuple[BrokenCopy, ...] = (
    LOCATION_LOOKUP,
    RANGE_LOOKUP,
    ARBITER,
    LINK_RECEIVER,
    LINK_SENDER,
    NOTICE_QUEUE,
    MERGE,
    MERGE2,
    PICK,
    QUEUE,
    WINDOW,
)
