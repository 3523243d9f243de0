"""DMA lane that reads without room."""

from .bug import SeededBug

__all__ = ["DMA_LANE"]

DMA_LANE = SeededBug(
    module="rtl.dma.lane",
    block="DmaLane",
    fault="reads an atom although no egress slot is free for it",
    right="& (self.used != p.egress_slots)",
    wrong="",
)
