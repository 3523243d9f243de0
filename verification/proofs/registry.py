"""Registry of all proofs."""

from collections.abc import Mapping
from types import MappingProxyType

from . import (
    abort,
    address_map,
    arbiter,
    channel,
    channel_sinks,
    channel_stores,
    clock_gating,
    clock_gating_channel,
    clock_gating_dma,
    clock_gating_link,
    clock_gating_tracker,
    clock_gating_trigger,
    congestion,
    credit_window,
    criticality,
    criticality_comparison,
    criticality_launch,
    criticality_rest,
    dma_engine,
    dma_lane,
    end_queue,
    error_path,
    external_status,
    foreign_regions,
    isolation,
    issue_ack_queue,
    link_control,
    link_endpoint,
    link_session,
    memory_queue,
    merge,
    noninterference,
    peer_status,
    protected_memory,
    protected_queue,
    queue,
    range_limits,
    registers,
    ring,
    secded,
    serial_product,
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
    end_queue,
    link_endpoint,
    link_session,
    link_control,
    memory_queue,
    merge,
    noninterference,
    isolation,
    issue_ack_queue,
    protected_memory,
    protected_queue,
    queue,
    registers,
    foreign_regions,
    ring,
    secded,
    serial_product,
    clock_gating,
    clock_gating_channel,
    clock_gating_tracker,
    clock_gating_trigger,
    clock_gating_dma,
    clock_gating_link,
    tracker_bank,
    tracker_front,
    tracker_table,
    trigger,
    credit_window,
    range_limits,
    congestion,
    criticality,
    criticality_comparison,
    criticality_launch,
    criticality_rest,
    abort,
    error_path,
    external_status,
    peer_status,
)

PROOFS: tuple[Proof, ...] = tuple(proof for module in _MODULES for proof in module.PROOFS)
"""Proofs of all modules; their names are unique."""

UNPROVEN: Mapping[str, str] = MappingProxyType(
    {
        "tracker": "the block only connects front, banks and merges, which are proven",
        "map_table": "the bench writes tables and compares them with a model",
    }
)
"""Blocks of :data:`rtl.blocks.BLOCKS` without a proof, each with the reason."""
