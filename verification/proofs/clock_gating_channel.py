"""Proofs of clock gating in the channel."""

from rtl.channel.access_merge import AccessMerge
from rtl.channel.end_queue import EndQueue
from rtl.channel.error_register import ErrorRegister
from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.channel.issue_ack_queue import IssueAckQueue
from rtl.channel.link_merge import LinkMerge
from rtl.channel.monitor import ChannelMonitor
from rtl.channel.store_check import STORE_ERRORS

from .clock_gating import clock_gating
from .registers import GEOMETRY

__all__ = ["PROOFS"]

_CONTEXTS = "2 contexts, addresses of 8 bits"

PROOFS = (
    clock_gating(
        "access-merge",
        "the merge of the accesses to the DRAM",
        AccessMerge,
        GEOMETRY,
        geometry=_CONTEXTS,
    ),
    clock_gating(
        "link-merge",
        "the merge of the packets for the link",
        LinkMerge,
        GEOMETRY,
        geometry=_CONTEXTS,
    ),
    clock_gating(
        "issue-ack-buffer",
        "the buffer of issue acknowledgements",
        IssueAckBuffer,
        GEOMETRY,
        depth=4,
        geometry=f"{_CONTEXTS}; 4 entries",
    ),
    clock_gating(
        "issue-ack-queue",
        "the queue of issue acknowledgements",
        IssueAckQueue,
        GEOMETRY,
        depth=4,
        geometry=f"{_CONTEXTS}; 4 entries",
    ),
    clock_gating(
        "end-queue", "the queue of end-of-tile markers", EndQueue, GEOMETRY, geometry=_CONTEXTS
    ),
    clock_gating(
        "error-register",
        "a channel's error register",
        ErrorRegister,
        GEOMETRY,
        STORE_ERRORS,
        geometry=_CONTEXTS,
    ),
    clock_gating(
        "channel-monitor", "a channel's monitor", ChannelMonitor, GEOMETRY, geometry=_CONTEXTS
    ),
)
