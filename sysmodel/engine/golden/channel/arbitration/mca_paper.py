"""Memory-controller arbitration as in the paper: communication goes where there is no compute and
the DRAM queue is short, or after a long wait, whether or not there is a kernel to protect."""

from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs, calm, urgent

__all__ = ["mca_paper"]


@inlined
def mca_paper(now: ArbiterInputs) -> int:
    """Choose communication if it is urgent, or if the DRAM queue is calm without compute."""
    if now.communication and (urgent(now) or (not now.compute and calm(now))):
        return 1
    return 0 if now.compute else -1
