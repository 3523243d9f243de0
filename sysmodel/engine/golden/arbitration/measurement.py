"""The measurement that picks how many entries the DRAM queue may hold."""

from sysmodel.lib.compiled import compiled

__all__ = ["ANY", "MEASURING", "measure"]

ANY = 127
_SUM_MASK = (1 << 40) - 1
# What the measurement does in this cycle, if anything.
MEASURING, _DIVIDES, _CUTS = range(1, 4)


@compiled
def measure(arbiter, channel, start):
    """One cycle of the occupancy measurement that picks the threshold."""
    step = channel.measuring
    if start:
        channel.measuring = MEASURING
        channel.sum = 0
        channel.count = 0
        channel.measured = ANY
    elif step == MEASURING:
        channel.sum = (channel.sum + channel.occupancy) & _SUM_MASK
        if channel.count == (1 << arbiter.measure_log2) - 1:
            channel.measuring = _DIVIDES
        channel.count += 1
    elif step == _DIVIDES:
        channel.average = (channel.sum >> arbiter.measure_log2) & 127
        channel.measuring = _CUTS
    elif step == _CUTS:
        channel.measured = ANY
        for cut in range(3):
            if channel.average >= arbiter.cuts[cut]:
                channel.measured = arbiter.levels[cut]
        channel.measuring = 0
