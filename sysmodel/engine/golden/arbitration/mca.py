"""Compute first; communication only while the DRAM queue holds few entries, or when it has waited
for long, or where there is no kernel to protect."""

from sysmodel.lib.compiled import inlined

from .mca_paper import calm

__all__ = ["mca"]


@inlined
def mca(s, channel, compute, communication):
    urgent = channel.starved >= s.config.arbiter.starvation_limit
    passes = not s.gpu.active or calm(s, channel)
    if communication and (urgent or (not compute and passes)):
        return 1
    return 0 if compute else -1
