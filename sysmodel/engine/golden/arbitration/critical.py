"""Communication first while it is what everything waits for and the memory is not what holds it up;
else compute first, and communication leaves room in the DRAM queue while it has time."""

from sysmodel.lib.compiled import inlined

from .mca_paper import calm

__all__ = ["critical", "follow_congestion"]

_FULL, _EMPTY = 7, 1
_MOST, _CONGESTED = 511, 256


@inlined
def follow_congestion(s, channel, sends):
    """Take a sample of whether the memory holds communication up: although that is critical, the
    DRAM queue is full and the link has nothing to send."""
    own = s.gpu.criticality
    if not own.active and not own.critical:
        channel.congestion = 0
    elif own.critical:
        if channel.occupancy >= s.config.arbiter.cuts[2] and not sends:
            channel.congestion = min(channel.congestion + _FULL, _MOST)
        elif channel.congestion:
            channel.congestion -= _EMPTY


@inlined
def critical(s, channel, compute, communication):
    own, arbiter = s.gpu.criticality, s.config.arbiter
    limit = arbiter.starvation_limit
    congested = channel.congestion >= _CONGESTED
    if own.critical and not congested:
        goes = not compute or channel.compute_starved < limit
    else:
        passes = not own.relaxed or congested or calm(s, channel)
        goes = channel.starved >= limit or (not compute and passes)
    if communication and goes:
        return 1
    return 0 if compute else -1
