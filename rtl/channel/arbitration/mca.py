"""Memory-controller arbitration: communication uses what compute leaves of a short DRAM queue, and
all of it where there is no kernel to protect."""

from amaranth.hdl import Value

from .mca_paper import calm, urgent
from .situation import Situation

__all__ = ["mca"]


def mca(now: Situation) -> Value:
    """Communication goes if compute has no request and the DRAM queue is calm or no kernel is
    active, or if it is urgent."""
    return urgent(now) | (~now.compute & (calm(now) | ~now.active))
