"""Compute stream against communication stream, in front of the DRAM queue."""

from rtl.interface.encodings import Policy
from sysmodel.lib.compiled import compiled, inlined

from .queues import pick
from .state import C, K

__all__ = ["ANY", "arbitrate", "measure"]

_COMPUTE_FIRST = Policy.COMPUTE_FIRST.value
_MCA = Policy.MCA.value
ANY = 127
_SUM_MASK = (1 << 40) - 1
# What the measurement does in this cycle, if anything.
_ADDS, _DIVIDES, _CUTS = range(1, 4)


@inlined
def arbitrate(s, k, compute, communication, room):
    """Choose among the two candidates of the channel at word `k`.

    Updates ``last`` and ``starved``.

    Returns
    -------
    int
        0 for compute, 1 for communication, -1 for nothing.
    """
    config, channel = s.config, s.channels
    choice = -1
    if room:
        policy = config[C.policy]
        if policy == _MCA:
            threshold = config[C.threshold]
            if config[C.automatic]:
                threshold = channel[k + K.measured]
            urgent = channel[k + K.starved] >= config[C.starvation_limit]
            passes = threshold == ANY or channel[k + K.occupancy] < threshold
            if communication and (urgent or (not compute and passes)):
                choice = 1
            elif compute:
                choice = 0
        elif policy == _COMPUTE_FIRST:
            choice = 0 if compute else (1 if communication else -1)
        else:
            choice = pick(compute, communication, channel[k + K.arbiter_last])
        if choice >= 0:
            channel[k + K.arbiter_last] = choice
    if choice == 1 or not communication:
        channel[k + K.starved] = 0
    elif channel[k + K.starved] < 65535:
        channel[k + K.starved] += 1
    return choice


@compiled
def measure(s, k, start):
    """One cycle of the occupancy measurement that picks MCA's threshold."""
    config, channel = s.config, s.channels
    step = channel[k + K.measuring]
    if start:
        channel[k + K.measuring] = _ADDS
        channel[k + K.sum] = 0
        channel[k + K.count] = 0
        channel[k + K.measured] = ANY
    elif step == _ADDS:
        channel[k + K.sum] = (channel[k + K.sum] + channel[k + K.occupancy]) & _SUM_MASK
        if channel[k + K.count] == (1 << config[C.measure_log2]) - 1:
            channel[k + K.measuring] = _DIVIDES
        channel[k + K.count] += 1
    elif step == _DIVIDES:
        channel[k + K.average] = (channel[k + K.sum] >> config[C.measure_log2]) & 127
        channel[k + K.measuring] = _CUTS
    elif step == _CUTS:
        average = channel[k + K.average]
        level = ANY
        if average >= config[C.cut2]:
            level = config[C.level2]
        elif average >= config[C.cut1]:
            level = config[C.level1]
        elif average >= config[C.cut0]:
            level = config[C.level0]
        channel[k + K.measured] = level
        channel[k + K.measuring] = 0
