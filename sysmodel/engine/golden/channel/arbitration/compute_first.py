"""Compute first: communication goes if compute has no request, or after a long wait."""

from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs, urgent

__all__ = ["compute_first"]


@inlined
def compute_first(now: ArbiterInputs) -> int:
    """Choose compute if it has a request, unless communication is urgent."""
    if now.compute and not (now.communication and urgent(now)):
        return 0
    return 1 if now.communication else -1
