"""What stands for the whole machine beside the whole machine: one channel, one GPU."""

from dataclasses import dataclass, replace

from sysmodel.config.system import load_system
from sysmodel.config.workload import Workload, known_workloads
from sysmodel.lib.progress import Report, no_progress
from sysmodel.runs.result import RunOptions
from sysmodel.runs.simulate import run

__all__ = ["CHANNELS", "GPUS", "WORKLOADS", "Sampling", "SamplingComparison", "compare_sampling"]


@dataclass(frozen=True)
class Sampling:
    """A way to sample, and how far the total time may be from that of the whole machine."""

    title: str
    whole: RunOptions  # of the run that is not sampled
    bound: float


_CONFIGURATIONS = ("sequential", "t3", "t3-mca")
_SAMPLED = RunOptions(engine="golden", configurations=_CONFIGURATIONS)
CHANNELS = Sampling("one memory channel against all", replace(_SAMPLED, channels="all"), 0.02)
GPUS = Sampling("one GPU that stands for all against all", replace(_SAMPLED, gpus="all"), 0.01)
WORKLOADS = (("t-nlg", "fc2", 8), ("t-nlg", "op", 16), ("mega-gpt-2", "ip", 8))


@dataclass(frozen=True)
class SamplingComparison:
    """Total times of one workload and configuration, sampled and whole."""

    workload: Workload
    configuration: str
    sampled_ns: float
    whole_ns: float

    @property
    def difference(self) -> float:
        """Of the sampled time, as a share of the whole machine's."""
        return self.sampled_ns / self.whole_ns - 1


def compare_sampling(
    sampling: Sampling,
    workloads: tuple[tuple[str, str, int], ...] = WORKLOADS,
    report: Report = no_progress,
) -> list[SamplingComparison]:
    """Simulate workloads (model, layer, TP) both ways, with the golden engine.

    Raises
    ------
    InputError
        An unknown workload, or one that cannot be sampled.
    SimulationError
        If a run loses bytes, or nothing moves any more.
    """
    system, found = load_system(), []
    for one in workloads:
        workload = known_workloads().workload(*one)
        sampled, whole = (
            run(workload, system, options, report).configurations
            for options in (_SAMPLED, sampling.whole)
        )
        found += [
            SamplingComparison(workload, name, sampled[name].total_ns, whole[name].total_ns)
            for name in _CONFIGURATIONS
        ]
    return found
