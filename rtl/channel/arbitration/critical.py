"""Criticality-aware policy: communication has priority while it is on the critical path, compute
while communication has time; otherwise, and in a congested memory, they take turns."""

from amaranth.hdl import Mux, Value

from .arbiter_inputs import ArbiterInputs
from .mca_paper import calm, patient, urgent
from .round_robin import round_robin

__all__ = ["critical"]


def critical(now: ArbiterInputs) -> Value:
    """Give communication priority while it is critical, unless compute has waited for
    ``starvation_limit`` cycles; if communication has waited for as long, too, they take turns.
    Otherwise give compute priority while communication is relaxed: a
    communication request passes if compute has no request and the DRAM queue is calm, or after it
    has waited for as long. Otherwise, or if the memory is congested, take turns.
    """
    first = patient(now) | urgent(now)
    after = urgent(now) | (~now.compute & calm(now))
    decided = (now.critical | now.relaxed) & ~now.congested
    return Mux(decided, Mux(now.critical, first, after), round_robin(now))
