"""Sampling error of a run, estimated from other samples: fewer or more channels, every GPU."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log2
from typing import Literal

from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import Report, no_progress

from .configurations.registry import CONFIGURATIONS
from .options import SimulatedGpus
from .plan import Plan
from .result import RunResult
from .simulate import simulate

__all__ = ["SamplingError", "sampling_errors", "with_errors"]

# Work of a configuration, as SizeChoice counts it, up to which another sample is simulated.
_MOST_WORK = 4_000_000
# Error of a sample over its difference from a sample of half or twice as many channels: 1 for each
# doubling that leads to all channels, and at least this. Fitted to the 13 systems of which
# docs/sampling.md lists the errors.
_LEAST_MARGIN = 2
_LARGE = 0.02


@dataclass(frozen=True, kw_only=True)
class SamplingError:
    """Estimate of a run's error by another sample.

    Attributes
    ----------
    of : "channels" or "gpus"
        Sampling that the other sample changes.
    channels : int
        Simulated channels of the other sample.
    difference : float
        Largest difference of a configuration's speedup between the samples, as a share.
    band : float
        Share by which a speedup may differ: the difference if the other sample shows all that this
        sampling leaves out, otherwise a multiple of it.
    """

    of: Literal["channels", "gpus"]
    channels: int
    difference: float
    band: float

    @property
    def is_large(self) -> bool:
        """True if the band exceeds 2 %, which a run reports."""
        return self.band > _LARGE


def with_errors(plan: Plan, result: RunResult, report: Report = no_progress) -> RunResult:
    """Add the estimates of the error to a plan's result, whose band grows to the largest one."""
    errors = sampling_errors(plan, result, report)
    band = max([result.sampling_band, *(one.band for one in errors if one.is_large)])
    return replace(result, sampling_errors=errors, sampling_band=band)


def sampling_errors(
    plan: Plan, result: RunResult, report: Report = no_progress
) -> tuple[SamplingError, ...]:
    """Simulate other samples by the golden engine, and compare speedups.

    A sample that takes too much work, or does not represent all, is left out. Results of the RTL
    engine have no estimate, because the golden engine is not compiled for them.
    """
    speedups = {(plan.gpus, plan.channels): _speedups(result)}
    if plan.options.engine != "golden" or plan.is_extrapolated or not _compared(plan):
        return ()

    def measured(one: Plan) -> dict[str, float]:
        key = one.gpus, one.channels
        if key not in speedups:
            speedups[key] = _speedups(simulate(one, report, counts_clocks=False))
        return speedups[key]

    def error(of: Literal["channels", "gpus"], one: Plan, other: Plan, whole: int) -> SamplingError:
        ours, theirs = measured(one), measured(other)
        difference = max(abs(ours[name] / theirs[name] - 1) for name in ours)
        margin = 1.0 if other.channels == whole else max(_LEAST_MARGIN, log2(whole / one.channels))
        return SamplingError(
            of=of, channels=other.channels, difference=difference, band=margin * difference
        )

    every_channel = plan.system.dram.channels
    return (
        *(error("channels", plan, other, every_channel) for other in _other_channels(plan)),
        *(error("gpus", *both, plan.channels) for both in _every_gpu(plan)),
    )


def _other_channels(plan: Plan) -> Iterator[Plan]:
    """Yield the plan with half of the channels, or else with twice as many, if there is one."""
    if plan.channels == plan.system.dram.channels:
        return
    for channels in (plan.channels // 2, 2 * plan.channels):
        if channels and (other := _changed(plan, channels)):
            yield other
            return


def _every_gpu(plan: Plan) -> Iterator[tuple[Plan, Plan]]:
    """Yield the plan with the largest number of channels for which every GPU can be simulated:
    mirrored, and with every GPU.
    """
    channels = plan.channels if plan.mirror else 0
    while channels:
        every, mirrored = _changed(plan, channels, "all"), _changed(plan, channels)
        if every and mirrored:
            yield mirrored, every
            return
        channels //= 2


def _changed(plan: Plan, channels: int, gpus: SimulatedGpus | None = None) -> Plan | None:
    """Plan with another sample; None if it takes too much work or does not represent all."""
    try:
        options = replace(
            plan.options,
            channels=channels,
            gpus=gpus or plan.options.gpus,
            configurations=_compared(plan),
            repeat=1,
        )
        other = Plan(plan.workload, plan.system, options)
    except InputError:
        return None
    return other if other.work <= _MOST_WORK and not other.is_extrapolated else None


def _compared(plan: Plan) -> tuple[str, ...]:
    """Configurations whose speedups are compared."""
    return tuple(name for name in plan.options.configurations if CONFIGURATIONS[name].tracked)


def _speedups(result: RunResult) -> dict[str, float]:
    return {
        name: one.speedup
        for name, one in result.configurations.items()
        if one.speedup is not None and CONFIGURATIONS[name].tracked
    }
