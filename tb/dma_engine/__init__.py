"""Bench of the DMA engine."""
