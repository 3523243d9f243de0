"""Memory-controller arbitration: communication uses what compute leaves of a short DRAM queue."""

from amaranth.hdl import Mux, Value

from .measurement import NO_LIMIT
from .situation import Situation

__all__ = ["mca"]


def mca(now: Situation) -> Value:
    """Communication goes if compute has no request and the DRAM queue holds fewer entries than the
    threshold, or if it has waited for ``starvation_limit`` cycles."""
    config = now.configuration
    threshold = Mux(config.automatic, now.measured, config.threshold)
    calm = (threshold == NO_LIMIT) | (now.occupancy < threshold)
    urgent = now.starved >= config.starvation_limit
    return urgent | (~now.compute & calm)
