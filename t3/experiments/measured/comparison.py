"""The model's value of a measurement, and both side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from sysmodel.collectives.schedule import Operation
from sysmodel.config.system import System
from sysmodel.config.workload import custom_gemm
from sysmodel.lib.progress import Report, no_progress
from sysmodel.runs.collective_alone import simulate_collective
from sysmodel.runs.library_choice import library_choice
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.run_network import RunNetwork
from sysmodel.runs.simulate import simulate
from t3.experiments.dram.stream_share import stream_share
from t3.experiments.efficiency import gemm_alone

from .measurement import RINGS, STREAMS, Kind, Measurement

__all__ = ["OPERATIONS", "Compared", "compare", "compiling", "modelled"]

OPERATIONS: dict[Kind, Operation] = {
    "reduce_scatter": "reduce-scatter",
    "all_gather": "all-gather",
    "all_reduce": "all-reduce",
    "all_to_all": "all-to-all",
}
"""Operation of each kind of collective."""
_ARRAYS: dict[Kind, tuple[int, int]] = {"read": (1, 0), "copy": (1, 1), "add": (2, 1)}
"""Arrays that a memory stream reads, and writes."""
_SEQUENTIAL = RunOptions(engine="golden", configurations=("sequential",))


@dataclass(frozen=True)
class Compared:
    """Measurement with the model's value.

    Parameters
    ----------
    ours : float
        Value of the model in the measurement's unit.
    """

    measurement: Measurement
    ours: float

    @property
    def difference(self) -> float:
        """Difference of our value from the measured one, relative to the measured one."""
        return self.ours / self.measurement.value - 1


def modelled(system: System, one: Measurement, report: Report = no_progress) -> float:
    """Simulate a measurement with the golden engine; return the value in its unit.

    A collective runs by the algorithm that the library chooses on the system's topology, an
    all-to-all by direct sends. Its time is that of :func:`.simulate_collective`, which names the
    time of nccl-tests with which it compares. A GEMM's time is that of a kernel with empty caches,
    its launch included. A GEMM with its reduce-scatter is the configuration ``sequential`` without
    its all-gather.

    Raises
    ------
    InputError
        The model cannot simulate the size.
    SimulationError
        Bytes are lost, or the simulation makes no progress.
    """
    if one.kind in OPERATIONS:
        network = RunNetwork(system, one.gpus)
        operation, name = OPERATIONS[one.kind], "direct"
        if one.kind in RINGS:
            name = library_choice(network, operation, one.message_bytes)
        schedule = network.schedule(operation, name)
        found = simulate_collective(
            system, schedule, one.message_bytes, topology=system.topology, report=report
        )
        return found.time_ns / 1e3
    if one.kind in STREAMS:
        share = stream_share(system.dram.timing_cycles, *_ARRAYS[one.kind])
        return system.dram_bytes_per_ns * share
    if one.kind == "gemm":
        return gemm_alone(system, one.m, one.n, one.k, report=report).time_ns / 1e3
    workload = custom_gemm(one.m, one.n, one.k, one.gpus)
    result = simulate(Plan(workload, system, _SEQUENTIAL), report).configurations["sequential"]
    return (result.ns["gemm"] + result.ns["rs"]) / 1e3


def compiling(report: Report, task: str, share: float) -> Report:
    """Report of a simulation within a task of many: what it compiles before the first one, whose
    share of the whole is not known, and else the task."""

    def show(inner: str, _: float) -> None:
        report(f"{task}: {inner}" if inner.startswith("Compiling") else task, share)

    return show


def compare(
    system: System,
    measurements: Sequence[Measurement],
    report: Report = no_progress,
    task: str = "measured",
) -> list[Compared]:
    """Simulate every measurement on a system; ``task`` names it in the progress.

    Measurements of the same work are simulated once.
    """
    found = []
    ours: dict[Measurement, float] = {}
    for done, one in enumerate(measurements):
        name, share = f"{task}: {one.name}", done / len(measurements)
        report(name, share)
        work = one.work
        if work not in ours:
            ours[work] = modelled(system, one, compiling(report, name, share))
        found.append(Compared(one, ours[work]))
    return found
