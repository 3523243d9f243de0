"""Memory-controller arbitration (MCA) as in the paper: communication uses idle slots of a short
DRAM queue, even if no kernel is active.
"""

from amaranth.hdl import Mux, Value

from rtl.interface.encodings import NO_LIMIT, Origin

from .arbiter_inputs import ArbiterInputs

__all__ = ["calm", "mca_paper", "patient", "urgent"]


def calm(now: ArbiterInputs) -> Value:
    """Test whether the DRAM queue holds fewer entries than the threshold."""
    config = now.configuration
    threshold = Mux(config.automatic, now.measured, config.threshold)
    return (threshold == NO_LIMIT) | (now.occupancy < threshold)


def _within_limit(now: ArbiterInputs, waited: Value) -> Value:
    """Test whether a waiting time is below ``starvation_limit``. A limit of 0 acts like 1, since
    a request that has not waited must not exclude the other stream."""
    return (waited < now.configuration.starvation_limit) | ~waited.any()


def patient(now: ArbiterInputs) -> Value:
    """Test whether compute has no request, or one that has waited for less than the limit."""
    return ~now.compute | _within_limit(now, now.compute_starved)


def urgent(now: ArbiterInputs) -> Value:
    """Test whether communication has waited for ``starvation_limit`` cycles, and goes next: if both
    streams have waited for as long, they take turns."""
    in_turn = patient(now) | (now.last == Origin.COMPUTE)
    return ~_within_limit(now, now.starved) & in_turn


def mca_paper(now: ArbiterInputs) -> Value:
    """Let communication pass if it is urgent, or if compute has no request and the DRAM queue is
    calm."""
    return urgent(now) | (~now.compute & calm(now))
