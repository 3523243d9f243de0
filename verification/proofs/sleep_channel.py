"""Rooms of a channel that sleep."""

from rtl.channel.access_merge import AccessMerge
from rtl.channel.error_register import ErrorRegister
from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.channel.issue_ack_queue import IssueAckQueue
from rtl.channel.link_merge import LinkMerge
from rtl.channel.store_check import STORE_ERRORS
from rtl.channel.watch import ChannelWatch

from .registers import GEOMETRY
from .sleep import sleeps

__all__ = ["PROOFS"]

_CONTEXTS = "2 contexts, addresses of 8 bits"

PROOFS = (
    sleeps(
        "access-merge",
        "what merges the accesses to the DRAM",
        AccessMerge,
        GEOMETRY,
        geometry=_CONTEXTS,
    ),
    sleeps(
        "link-merge",
        "what merges the packets for the link",
        LinkMerge,
        GEOMETRY,
        geometry=_CONTEXTS,
    ),
    sleeps(
        "issue-ack-buffer",
        "the buffer of issue acknowledgements",
        IssueAckBuffer,
        GEOMETRY,
        depth=4,
        geometry=f"{_CONTEXTS}; 4 entries",
    ),
    sleeps(
        "issue-ack-queue",
        "the queue of issue acknowledgements",
        IssueAckQueue,
        GEOMETRY,
        depth=4,
        geometry=f"{_CONTEXTS}; 4 entries",
    ),
    sleeps(
        "error-register",
        "what tells a channel's error",
        ErrorRegister,
        GEOMETRY,
        STORE_ERRORS,
        geometry=_CONTEXTS,
    ),
    sleeps("channel-watch", "a channel's watch", ChannelWatch, GEOMETRY, geometry=_CONTEXTS),
)
