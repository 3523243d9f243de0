"""Compute-first policy."""

from amaranth.hdl import Value

from .arbiter_inputs import ArbiterInputs

__all__ = ["compute_first"]


def compute_first(now: ArbiterInputs) -> Value:
    """Let communication pass only if compute has no request."""
    return ~now.compute
