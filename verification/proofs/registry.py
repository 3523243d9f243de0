"""All proofs."""

from collections.abc import Mapping
from types import MappingProxyType

from . import (
    abort,
    address_map,
    arbiter,
    channel,
    channel_sinks,
    channel_stores,
    congestion,
    credit_window,
    criticality,
    criticality_comparison,
    criticality_launch,
    criticality_rest,
    dma_engine,
    dma_lane,
    isolation,
    issue_ack_queue,
    link_control,
    link_endpoint,
    link_session,
    memory_queue,
    merge,
    protected_memory,
    protected_queue,
    queue,
    registers,
    ring,
    secded,
    serial_product,
    sleep,
    sleep_channel,
    sleep_dma,
    sleep_link,
    sleep_tracker,
    sleep_trigger,
    tracker_bank,
    tracker_front,
    tracker_table,
    trigger,
)
from .proof import Proof

__all__ = ["PROOFS", "UNPROVEN"]

_MODULES = (
    address_map,
    arbiter,
    channel,
    channel_sinks,
    channel_stores,
    dma_engine,
    dma_lane,
    link_endpoint,
    link_session,
    link_control,
    memory_queue,
    merge,
    isolation,
    issue_ack_queue,
    protected_memory,
    protected_queue,
    queue,
    registers,
    ring,
    secded,
    serial_product,
    sleep,
    sleep_channel,
    sleep_tracker,
    sleep_trigger,
    sleep_dma,
    sleep_link,
    tracker_bank,
    tracker_front,
    tracker_table,
    trigger,
    credit_window,
    congestion,
    criticality,
    criticality_comparison,
    criticality_launch,
    criticality_rest,
    abort,
)

PROOFS: tuple[Proof, ...] = tuple(proof for module in _MODULES for proof in module.PROOFS)
"""Those of each module that has a block's harness; names are unique."""

UNPROVEN: Mapping[str, str] = MappingProxyType(
    {
        "tracker": "only joins front, banks and merges, which are proven",
        "map_table": "its bench writes tables beside a model",
    }
)
"""Blocks of :data:`rtl.blocks.BLOCKS` that no proof is about, and what is there instead."""
