"""Measurement of the DRAM queue's occupancy, which chooses the arbiter's threshold."""

from sysmodel.engine.golden.records import Record, record
from sysmodel.lib.compiled import compiled

from .inputs import NO_LIMIT

__all__ = ["MEASUREMENT", "MEASURING", "measure"]

MEASUREMENT = record("measuring_step sample_sum samples average measured")
"""Step of the measurement, sum and number of its samples, their mean, and the threshold."""

_SUM_MASK = (1 << 40) - 1
# Steps of the measurement; 0 without one.
MEASURING, _DIVIDES, _CUTS = range(1, 4)


@compiled
def measure(configuration: Record, own: Record, occupancy: int, start: bool) -> None:
    """Advance the measurement by one cycle.

    Parameters
    ----------
    configuration : record
        Record :data:`~sysmodel.engine.golden.payloads.layouts.ARBITER`.
    own : record
        Record :data:`MEASUREMENT`.
    occupancy : int
        Entries of the DRAM queue.
    start : bool
        Strobe: begin a measurement.
    """
    step = own.measuring_step
    if start:
        own.measuring_step = MEASURING
        own.sample_sum = 0
        own.samples = 0
        own.measured = NO_LIMIT
    elif step == MEASURING:
        own.sample_sum = (own.sample_sum + occupancy) & _SUM_MASK
        if own.samples == (1 << configuration.measure_log2) - 1:
            own.measuring_step = _DIVIDES
        own.samples += 1
    elif step == _DIVIDES:
        own.average = (own.sample_sum >> configuration.measure_log2) & 127
        own.measuring_step = _CUTS
    elif step == _CUTS:
        own.measured = NO_LIMIT
        for cut in range(3):
            if own.average >= configuration.cuts[cut]:
                own.measured = configuration.levels[cut]
        own.measuring_step = 0
