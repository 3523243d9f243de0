"""All proofs."""

from . import (
    address_map,
    arbiter,
    channel,
    channel_sinks,
    credit_window,
    dma_engine,
    dma_lane,
    issue_ack_queue,
    link_endpoint,
    merge,
    protected_memory,
    protected_queue,
    queue,
    ring,
    secded,
    tracker_bank,
    tracker_front,
    tracker_table,
    trigger,
)
from .proof import Proof

__all__ = ["PROOFS"]

_MODULES = (
    address_map,
    arbiter,
    channel,
    channel_sinks,
    dma_engine,
    dma_lane,
    link_endpoint,
    merge,
    issue_ack_queue,
    protected_memory,
    protected_queue,
    queue,
    ring,
    secded,
    tracker_bank,
    tracker_front,
    tracker_table,
    trigger,
    credit_window,
)

PROOFS: tuple[Proof, ...] = tuple(proof for module in _MODULES for proof in module.PROOFS)
"""Those of each module that has a block's harness; names are unique."""
