"""Criticality-aware arbitration: communication goes first while everything waits for it, unless the
memory itself holds it up."""

from amaranth.hdl import Mux, Value

from .mca_paper import calm, urgent
from .situation import Situation

__all__ = ["critical"]


def critical(now: Situation) -> Value:
    """While communication is critical and the memory is not congested it goes first, unless compute
    has waited for ``starvation_limit`` cycles. Else it goes if compute has no request, and, as
    long as it has time and the memory is not congested, only into a calm DRAM queue; or if it is
    urgent."""
    patient = now.compute_starved < now.configuration.starvation_limit
    first = ~now.compute | patient
    waits = now.relaxed & ~now.congested & ~calm(now)
    after = urgent(now) | (~now.compute & ~waits)
    return Mux(now.critical & ~now.congested, first, after)
