"""Kinds of clock-gated blocks, and the words in which a cycle's clock enables are collected.

Channels, banks and contexts have the same blocks each. The clock enables of a channel are in two
words with a field for each block; the words of several cycles are added up before any field could
overflow.
"""

from typing import Any

from ..channel.queues import Q
from ..constants import constants

__all__ = [
    "BLOCK",
    "COUNTS",
    "FIRST_MORE",
    "FIRST_UNIT",
    "KINDS",
    "MARK",
    "MARK_BITS",
    "MORE",
    "MORE_BITS",
    "UNIT",
]

# In the order of the queues' marks.
_QUEUES = [name for name in Q._fields if name != "candidates"]
_BESIDE = ("access_merge", "link_merge", "monitor", "issue_ack_buffer", "stored_count")
_MORE = ("lane", "remote", "store_error", "packet_error", "issue_ack_error", "nmc")
_UNITS = (
    "trigger", "credit_window", "range_limits", "criticality", "external_status", "engine",
)  # fmt: skip
_TRACKER = ("front", "merge", "bank")
_TOP = (
    "registers",
    "error_priority_encoder",
    "link_errors",
    "corrections",
    "scrubs",
    "status_register",
)
_OF_QUEUES, _OF_MORE, _OF_UNITS = (*_QUEUES, *_BESIDE), _MORE, (*_UNITS, "page")

KINDS = (
    *(f"channel.{name}" for name in (*_OF_QUEUES, *_OF_MORE)),
    *(f"context.{name}" for name in _UNITS),
    "registers.context",
    "context.peer_status",
    *(f"tracker.{name}" for name in _TRACKER),
    "registers.gpu",
    *_TOP,
)
"""Kinds of clock-gated blocks, by the names of their modules in the hardware."""
BLOCK = constants("Block", {kind.replace(".", "_"): n for n, kind in enumerate(KINDS)})
"""Number of each kind."""


def _marks(name: str, blocks: tuple[str, ...], bits: int) -> Any:
    """Make the marks of blocks in a word that has a field of equal width for each block."""
    return constants(name, {block: 1 << (bits * field) for field, block in enumerate(blocks)})


MARK_BITS, MORE_BITS = 4, 8
"""Bits of a field: up to 15 for a block of a channel, and for the blocks of its contexts."""
MARK = _marks("Mark", _OF_QUEUES, MARK_BITS)
"""Mark of a block in a channel's first word; the marks of queues are the same as in their
levels.
"""
MORE = _marks("More", _OF_MORE, MORE_BITS)
"""Mark of a block in a channel's second word."""
UNIT = _marks("Unit", _OF_UNITS, 1)
"""Bit of each block of a context in its word."""
COUNTS = 1 << len(_OF_UNITS)
"""Bit of a context's word: a comparison of criticality counts its phase."""

FIRST_MORE, FIRST_UNIT = len(_OF_QUEUES), len(_OF_QUEUES) + len(_OF_MORE)
"""Numbers of the first kinds of a channel's second word, and of a context's word."""
