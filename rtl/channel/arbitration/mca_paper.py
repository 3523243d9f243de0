"""Memory-controller arbitration (MCA) as in the paper: communication uses idle slots of a short
DRAM queue, even if no kernel is active.
"""

from amaranth.hdl import Mux, Value

from rtl.interface.encodings import NO_LIMIT

from .arbiter_inputs import ArbiterInputs

__all__ = ["calm", "mca_paper", "urgent"]


def calm(now: ArbiterInputs) -> Value:
    """Test whether the DRAM queue holds fewer entries than the threshold."""
    config = now.configuration
    threshold = Mux(config.automatic, now.measured, config.threshold)
    return (threshold == NO_LIMIT) | (now.occupancy < threshold)


def urgent(now: ArbiterInputs) -> Value:
    """Test whether communication has waited for ``starvation_limit`` cycles."""
    return now.starved >= now.configuration.starvation_limit


def mca_paper(now: ArbiterInputs) -> Value:
    """Let communication pass if it is urgent, or if compute has no request and the DRAM queue is
    calm."""
    return urgent(now) | (~now.compute & calm(now))
