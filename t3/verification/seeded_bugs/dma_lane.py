"""DMA lane that reads without room."""

from .copy import BrokenCopy

__all__ = ["DMA_LANE"]

DMA_LANE = BrokenCopy(
    module="rtl.dma.lane",
    block="DmaLane",
    fault="reads an atom although no egress slot is free for it",
    right="& (used != p.egress_slots)",
    wrong="",
)
