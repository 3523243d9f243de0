"""DMA engine that forgets the end of a row."""

from .bug import SeededBug

__all__ = ["DMA_ENGINE"]

DMA_ENGINE = SeededBug(
    module="rtl.dma.engine",
    block="DmaEngine",
    fault="the last atom of a row is skipped, unless its segment has no other",
    right="length.eq(Mux(cut.row_ends, left, room)),",
    wrong="length.eq(Mux(cut.row_ends & (left != 1), left - 1, room)),",
)
