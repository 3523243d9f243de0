"""Criticality-aware policy: communication has priority while it is on the critical path, unless the
memory is congested."""

from amaranth.hdl import Mux, Value

from .arbiter_inputs import ArbiterInputs
from .mca_paper import calm, urgent

__all__ = ["critical"]


def critical(now: ArbiterInputs) -> Value:
    """Give communication priority while it is critical and the memory is not congested, unless
    compute has waited for ``starvation_limit`` cycles. Otherwise let communication pass if it is
    urgent, or if compute has no request. While communication is relaxed and the memory is not
    congested, a request that is not urgent also needs a calm DRAM queue.
    """
    patient = now.compute_starved < now.configuration.starvation_limit
    first = ~now.compute | patient
    waits = now.relaxed & ~now.congested & ~calm(now)
    after = urgent(now) | (~now.compute & ~waits)
    return Mux(now.critical & ~now.congested, first, after)
