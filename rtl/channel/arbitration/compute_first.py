"""Compute-first policy."""

from amaranth.hdl import Value

from .arbiter_inputs import ArbiterInputs
from .mca_paper import urgent

__all__ = ["compute_first"]


def compute_first(now: ArbiterInputs) -> Value:
    """Let communication pass if compute has no request, or if communication is urgent."""
    return ~now.compute | urgent(now)
