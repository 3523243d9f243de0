"""Compute always goes first."""

from amaranth.hdl import Value

from .situation import Situation

__all__ = ["compute_first"]


def compute_first(now: Situation) -> Value:
    """Communication goes only if compute has no request."""
    return ~now.compute
