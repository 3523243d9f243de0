"""Critical: communication goes first while all other work waits for it and the memory is not
congested. Otherwise compute goes first, and communication that is not urgent leaves space in the
DRAM queue.
"""

from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs, calm, urgent

__all__ = ["critical"]


@inlined
def critical(now: ArbiterInputs) -> int:
    """Choose communication first if it is critical and the memory is not congested."""
    signals, limit = now.signals, now.configuration.starvation_limit
    if signals.any_critical and not signals.any_congested:
        goes = not now.compute or now.registers.compute_starved < limit
    else:
        passes = not signals.all_relaxed or signals.any_congested or calm(now)
        goes = urgent(now) or (not now.compute and passes)
    if now.communication and goes:
        return 1
    return 0 if now.compute else -1
