"""Memory-controller arbitration (MCA) as in the paper: communication goes if compute has no request
and the DRAM queue is short, or after a long wait, even while no kernel is active.
"""

from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs, calm, urgent

__all__ = ["mca_paper"]


@inlined
def mca_paper(now: ArbiterInputs) -> int:
    """Choose communication if it is urgent, or if compute has no request and the DRAM queue is
    calm.
    """
    if now.communication and (urgent(now) or (not now.compute and calm(now))):
        return 1
    return 0 if now.compute else -1
