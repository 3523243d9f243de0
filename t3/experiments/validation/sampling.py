"""Comparison of sampled simulations (one channel, one GPU) with full ones."""

from dataclasses import dataclass, replace

from sysmodel.config.model import workload_of
from sysmodel.config.system import load_system
from sysmodel.config.workload import Workload
from sysmodel.lib.progress import Report, no_progress
from sysmodel.runs.comparison import Spread
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.result import RunResult
from sysmodel.runs.simulate import simulate

__all__ = ["CHANNELS", "GPUS", "Sampling", "SamplingComparison", "compare_sampling"]


_CONFIGURATIONS = ("sequential", "t3", "t3-mca", "t3-critical")
_SAMPLED = RunOptions(engine="golden", configurations=_CONFIGURATIONS)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Kind of sampling, with a bound on the total time's deviation from the full simulation."""

    title: str
    whole: RunOptions  # options of the full simulation
    bound: float
    workloads: tuple[tuple[str, str, int], ...]  # model, layer, TP

    @property
    def sampled(self) -> RunOptions:
        return replace(_SAMPLED, repeat=self.whole.repeat)


# Single runs differ by up to the time of a workgroup, because the last workgroups of a GEMM may or
# may not share a CU. Therefore means are compared.
CHANNELS = Sampling(
    title="one memory channel against all",
    whole=replace(_SAMPLED, channels="all", repeat=4),
    bound=0.0125,
    workloads=(
        *(("t-nlg", layer, 16) for layer in ("op", "ip", "fc1")),
        ("t-nlg", "fc2", 8),
        ("mega-gpt-2", "ip", 8),
        ("mega-gpt-2", "fc2", 16),
    ),
)
# Without repetitions, in which real GPUs start at different times, which one GPU cannot represent.
GPUS = Sampling(
    title="one GPU that stands for all against all",
    whole=replace(_SAMPLED, gpus="all"),
    bound=0.01,
    workloads=(("t-nlg", "fc2", 8), ("t-nlg", "op", 16), ("mega-gpt-2", "ip", 8)),
)


@dataclass(frozen=True)
class SamplingComparison:
    """Mean total times of one workload and configuration, in sampled and in full simulations."""

    workload: Workload
    configuration: str
    sampled_ns: float
    whole_ns: float

    @property
    def difference(self) -> float:
        """Deviation of the sampled time, as a share of the full simulation's."""
        return self.sampled_ns / self.whole_ns - 1


def compare_sampling(sampling: Sampling, report: Report = no_progress) -> list[SamplingComparison]:
    """Simulate the workloads both ways, with the golden engine.

    Raises
    ------
    InputError
        If a workload is unknown or cannot be sampled.
    SimulationError
        If a run loses bytes or makes no progress.
    """
    system, found = load_system(), []
    for one in sampling.workloads:
        workload = workload_of(*one)
        sampled, whole = (
            _mean_totals(simulate(Plan(workload, system, options), report))
            for options in (sampling.sampled, sampling.whole)
        )
        found += [
            SamplingComparison(workload, name, sampled[name], whole[name])
            for name in _CONFIGURATIONS
        ]
    return found


def _mean_totals(result: RunResult) -> dict[str, float]:
    repetitions = (result.configurations, *result.varied)
    return {
        name: Spread.of([one[name].total_ns for one in repetitions]).mean
        for name in _CONFIGURATIONS
    }
