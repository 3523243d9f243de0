"""Both streams in turn."""

from amaranth.hdl import Value

from rtl.interface.encodings import Origin

from .situation import Situation

__all__ = ["round_robin"]


def round_robin(now: Situation) -> Value:
    """Communication goes if compute has no request, or went last."""
    return ~now.compute | (now.last == Origin.COMPUTE)
