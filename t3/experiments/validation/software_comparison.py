"""Comparison of kernels that overlap a GEMM with collectives with the model's configurations."""

from collections.abc import Sequence
from dataclasses import dataclass

from sysmodel.config.system import load_system
from sysmodel.config.workload import Workload, custom_gemm
from sysmodel.lib.progress import Report, no_progress
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.program.activities import Collective, Gemm, Size
from sysmodel.runs.program.files import default_program
from sysmodel.runs.program.program import Program
from sysmodel.runs.simulate import simulate
from t3.experiments.measured.comparison import compiling
from t3.experiments.measured.parameters import changed

from .software_rows import SoftwareRow, software_rows

__all__ = [
    "BOUND",
    "LEAST_AGREEMENT",
    "SoftwareComparison",
    "agreement",
    "compare_software",
]

BOUND = 0.15
LEAST_AGREEMENT = 0.8  # share of the rows whose win or loss is right
_BEFORE_K = 64  # of the GEMM whose output the all-gather before a GEMM distributes
_SCATTER = Collective("rs", "reduce-scatter", of="gemm")
_GATHER = Collective("ag", "all-gather", of="rs")
_SCATTERED = Program("gemm-rs", (Gemm("gemm"), _SCATTER))


@dataclass(frozen=True)
class SoftwareComparison:
    """Measured row with the model's times of `sequential` and of the kernel's configuration."""

    row: SoftwareRow
    sequential_ns: float
    kernel_ns: float

    @property
    def speedup(self) -> float:
        """Time of `sequential` over the kernel's."""
        return self.sequential_ns / self.kernel_ns

    @property
    def torch_difference(self) -> float | None:
        """Difference of `sequential` from the libraries' measured time, relative to that."""
        measured = self.row.torch_us
        return None if measured is None else self.sequential_ns / 1e3 / measured - 1

    @property
    def difference(self) -> float:
        """Difference of the kernel's time from the measured one, relative to that; of the times as
        shares of the libraries' where the source has only this ratio."""
        if self.row.kernel_us is not None:
            return self.kernel_ns / 1e3 / self.row.kernel_us - 1
        assert self.row.speedup is not None  # each row has a time or a ratio
        return self.row.speedup / self.speedup - 1

    @property
    def holds(self) -> bool | None:
        """True if the kernel is within the bound; None if the configuration lacks a part of it."""
        return abs(self.difference) <= BOUND if self.row.kernel.whole else None

    @property
    def agrees(self) -> bool | None:
        """True if the model has the same winner; None if the source does not compare both."""
        return None if self.row.wins is None else (self.speedup > 1) is self.row.wins


def agreement(compared: Sequence[SoftwareComparison]) -> tuple[int, int]:
    """Count the rows with the right win or loss, and all that the sources compare."""
    known = [one.agrees for one in compared if one.agrees is not None]
    return sum(known), len(known)


def compare_software(
    report: Report = no_progress, rows: Sequence[SoftwareRow] | None = None
) -> list[SoftwareComparison]:
    """Simulate the measured rows with the golden engine; `sequential` once for each size."""
    chosen = software_rows() if rows is None else rows
    simulated: dict[tuple[object, ...], float] = {}
    found = []
    for done, row in enumerate(chosen):
        name = f"{row.kernel.name} on {row.preset}: {row.m} x {row.n} x {row.k}"
        report(name, done / len(chosen))
        shown = compiling(report, name, done / len(chosen))
        times = []
        for configuration in ("sequential", row.kernel.configuration):
            key = _identity(row, configuration)
            if key not in simulated:
                simulated[key] = _simulated_ns(row, configuration, shown)
            times.append(simulated[key])
        found.append(SoftwareComparison(row, *times))
    return found


def _identity(row: SoftwareRow, configuration: str) -> tuple[object, ...]:
    """Everything on which the time of a configuration depends."""
    values = () if configuration == "sequential" else tuple(sorted(row.kernel.values.items()))
    return configuration, values, row.preset, row.gpus, row.operation, row.m, row.n, row.k


def _simulated_ns(row: SoftwareRow, configuration: str, report: Report) -> float:
    """Time of a configuration for the work of a row's kernel."""
    system = load_system(row.preset)
    if configuration != "sequential":
        system = changed(system, dict(row.kernel.values))
    workload, program = _work(row)
    options = RunOptions(engine="golden", configurations=(configuration,), program=program)
    plan = Plan(workload, system, options)
    found = simulate(plan, report, counts_clocks=False).configurations[configuration]
    if row.operation != "ag_gemm":
        return found.total_ns
    # The time of the GEMM contains that of copies that it hides.
    in_turn = configuration == "sequential" or found.chosen["ag"] == "by the library"
    return found.ns["next"] + (found.ns["ag"] if in_turn else 0.0)


def _work(row: SoftwareRow) -> tuple[Workload, Program]:
    """Workload and program of a row: with both halves of the all-reduce, without an all-gather that
    the row lacks, or with a short GEMM before the all-gather."""
    if row.operation == "ag_gemm":
        behind = Gemm("next", needs=("ag",), size=Size(m=row.m, n=row.n, k=row.k))
        program = Program("ag-gemm", (Gemm("gemm"), _SCATTER, _GATHER, behind))
        return custom_gemm(row.m, row.k, _BEFORE_K, row.gpus), program
    program = _SCATTERED if row.operation == "gemm_rs" else default_program()
    return custom_gemm(row.m, row.n, row.k, row.gpus), program
