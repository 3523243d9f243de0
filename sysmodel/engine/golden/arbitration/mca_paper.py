"""Communication only where there is no compute and the DRAM queue holds few entries, but at once
when it has waited for long; whether or not there is a kernel to protect."""

from sysmodel.lib.compiled import inlined

from .measurement import ANY

__all__ = ["calm", "mca_paper"]


@inlined
def calm(s, channel):
    """The DRAM queue holds fewer entries than the threshold."""
    arbiter = s.config.arbiter
    threshold = channel.measured if arbiter.automatic else arbiter.threshold
    return threshold == ANY or channel.occupancy < threshold


@inlined
def mca_paper(s, channel, compute, communication):
    urgent = channel.starved >= s.config.arbiter.starvation_limit
    if communication and (urgent or (not compute and calm(s, channel))):
        return 1
    return 0 if compute else -1
