"""Round-robin policy."""

from amaranth.hdl import Value

from rtl.interface.encodings import Origin

from .arbiter_inputs import ArbiterInputs

__all__ = ["round_robin"]


def round_robin(now: ArbiterInputs) -> Value:
    """Let communication pass if compute has no request or was served last."""
    return ~now.compute | (now.last == Origin.COMPUTE)
