"""Timebase of the hardware, for timeouts and measurements."""

__all__ = ["TICK_CYCLES"]

TICK_CYCLES = 64
"""Cycles from one tick of the GPU's timebase to the next."""
