"""Memory-controller arbitration (MCA): communication uses idle slots of a short DRAM queue, and the
whole queue while no kernel is active."""

from amaranth.hdl import Value

from .arbiter_inputs import ArbiterInputs
from .mca_paper import calm, urgent

__all__ = ["mca"]


def mca(now: ArbiterInputs) -> Value:
    """Let communication pass if it is urgent, or if compute has no request and either the DRAM
    queue is calm or no kernel is active."""
    return urgent(now) | (~now.compute & (calm(now) | ~now.active))
