"""Communication first while it is what everything waits for and the memory is not what holds it up;
else compute first, and communication leaves room in the DRAM queue while it has time."""

from sysmodel.lib.compiled import inlined

from .mca_paper import calm

__all__ = ["critical"]


@inlined
def critical(s, channel, compute, communication):
    own, arbiter = s.gpu, s.config.arbiter
    limit = arbiter.starvation_limit
    if own.critical and not own.congested:
        goes = not compute or channel.compute_starved < limit
    else:
        passes = not own.relaxed or own.congested or calm(s, channel)
        goes = channel.starved >= limit or (not compute and passes)
    if communication and goes:
        return 1
    return 0 if compute else -1
