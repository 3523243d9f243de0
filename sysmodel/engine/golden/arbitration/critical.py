"""Communication first while it is what everything waits for; else compute first, and communication
leaves room in the DRAM queue while it has time."""

from sysmodel.lib.compiled import inlined

from .mca_paper import calm

__all__ = ["critical"]


@inlined
def critical(s, channel, compute, communication):
    own, limit = s.gpu.criticality, s.config.arbiter.starvation_limit
    if own.critical:
        goes = not compute or channel.compute_starved < limit
    else:
        passes = not own.relaxed or calm(s, channel)
        goes = channel.starved >= limit or (not compute and passes)
    if communication and goes:
        return 1
    return 0 if compute else -1
