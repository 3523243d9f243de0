"""Phases of a run, by which accesses and events are counted; a counter is an array indexed by
phase.
"""

__all__ = ["AG", "GEMM", "PHASES", "RS"]

GEMM, RS, AG = range(3)
PHASES = 3
