"""Compute first: communication goes only if compute has no request."""

from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs

__all__ = ["compute_first"]


@inlined
def compute_first(now: ArbiterInputs) -> int:
    """Choose compute if it has a request."""
    if now.compute:
        return 0
    return 1 if now.communication else -1
