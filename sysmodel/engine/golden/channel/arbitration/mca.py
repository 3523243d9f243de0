"""Memory-controller arbitration: compute first, and communication only into a short DRAM queue, or
after a long wait, or where there is no kernel to protect."""

from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs, calm, urgent

__all__ = ["mca"]


@inlined
def mca(now: ArbiterInputs) -> int:
    """Choose communication if it is urgent, or if no compute is there to be slowed down."""
    passes = not now.signals.kernel_active or calm(now)
    if now.communication and (urgent(now) or (not now.compute and passes)):
        return 1
    return 0 if now.compute else -1
