"""Phases that accesses and events are counted to; a counter of each is an array by phase."""

__all__ = ["AG", "GEMM", "PHASES", "RS"]

GEMM, RS, AG = range(3)
PHASES = 3
