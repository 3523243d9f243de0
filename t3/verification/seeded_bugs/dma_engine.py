"""DMA engine that forgets the end of a run."""

from .copy import BrokenCopy

__all__ = ["DMA_ENGINE"]

DMA_ENGINE = BrokenCopy(
    module="rtl.dma.engine",
    block="DmaEngine",
    fault="the last sector of a run is skipped, unless its piece has no other",
    right="length.eq(Mux(run_ends, run_left, room)),",
    wrong="length.eq(Mux(run_ends & (run_left != 1), run_left - 1, room)),",
)
