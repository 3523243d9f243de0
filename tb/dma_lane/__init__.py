"""Bench of a DMA lane."""
