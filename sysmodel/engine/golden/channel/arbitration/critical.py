"""Critical: communication goes first while all other work waits for it, compute while communication
has time. Otherwise, and in a congested memory, they take turns.
"""

from sysmodel.engine.golden.index import pick
from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs, calm, compute_is_due, urgent

__all__ = ["critical"]


@inlined
def critical(now: ArbiterInputs) -> int:
    """Choose the stream that did not go last if the memory is congested, or if communication is
    neither critical nor relaxed."""
    signals = now.signals
    if signals.any_congested or not (signals.any_critical or signals.all_relaxed):
        return pick(now.compute, now.communication, now.registers.arbiter_last)
    if signals.any_critical:
        goes = not compute_is_due(now) or urgent(now)
    else:
        goes = urgent(now) or (not now.compute and calm(now))
    if now.communication and goes:
        return 1
    return 0 if now.compute else -1
