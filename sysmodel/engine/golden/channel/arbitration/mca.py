"""Memory-controller arbitration (MCA): compute goes first; communication goes into a short DRAM
queue, after a long wait, or while no kernel is active.
"""

from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs, calm, urgent

__all__ = ["mca"]


@inlined
def mca(now: ArbiterInputs) -> int:
    """Choose communication if it is urgent, or if it would not slow compute down."""
    passes = not now.signals.kernel_active or calm(now)
    if now.communication and (urgent(now) or (not now.compute and passes)):
        return 1
    return 0 if now.compute else -1
