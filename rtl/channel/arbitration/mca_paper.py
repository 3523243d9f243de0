"""Memory-controller arbitration as the paper has it: communication uses what compute leaves of a
short DRAM queue, also while there is no compute."""

from amaranth.hdl import Mux, Value

from .measurement import NO_LIMIT
from .situation import Situation

__all__ = ["calm", "mca_paper", "urgent"]


def calm(now: Situation) -> Value:
    """The DRAM queue holds fewer entries than the threshold."""
    config = now.configuration
    threshold = Mux(config.automatic, now.measured, config.threshold)
    return (threshold == NO_LIMIT) | (now.occupancy < threshold)


def urgent(now: Situation) -> Value:
    """Communication has waited for ``starvation_limit`` cycles."""
    return now.starved >= now.configuration.starvation_limit


def mca_paper(now: Situation) -> Value:
    """Communication goes if compute has no request and the DRAM queue is calm, or if it is
    urgent."""
    return urgent(now) | (~now.compute & calm(now))
