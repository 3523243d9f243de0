"""The configurations that are compared, and a run of some of them."""

from collections.abc import Callable

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.energy.constants import known_constants
from sysmodel.energy.counts import Activity, DramBytes, Energy, LinkBytes
from sysmodel.energy.model import energy_of
from sysmodel.lib.errors import InputError
from sysmodel.lib.phases import AG, GEMM, RS

from .cu_split import cu_split
from .phases import PhaseResult, Report, RunContext
from .result import ConfigurationResult, RunOptions, RunResult
from .sequential import sequential
from .transparent import scatter, transparent

__all__ = ["run"]


class _Configurations:
    """Configurations of one context, each simulated once; some build on others."""

    def __init__(self, context: RunContext):
        self._context = context
        self.done: dict[str, PhaseResult] = {}

    def __getitem__(self, name: str) -> PhaseResult:
        if name not in self.done:
            if name in _IDEAL:
                self.done[name] = self._ideal(_IDEAL[name])
            else:
                self.done[name] = _SIMULATED[name](self._context)
        return self.done[name]

    def _ideal(self, scatter_name: str) -> PhaseResult:
        """GEMM and reduce-scatter as fast side by side as each alone, then the all-gather."""
        base, rs = self["sequential"], self[scatter_name]
        counts = base.counts.copy()
        counts[RS] = rs.counts[RS]
        return PhaseResult(
            gemm_cycles=base.gemm_cycles,
            rs_cycles=rs.rs_cycles,
            ag_cycles=base.ag_cycles,
            total_cycles=max(base.gemm_cycles, rs.rs_cycles) + base.ag_cycles,
            counts=counts,
        )


_SIMULATED: dict[str, Callable[[RunContext], PhaseResult]] = {
    "sequential": sequential,
    "t3": lambda context: transparent(context, "t3", "round-robin"),
    "t3-mca": lambda context: transparent(context, "t3-mca", "mca"),
    "rs-nmc": scatter,
    "cu-split-8": lambda context: cu_split(context, 8),
    "cu-split-16": lambda context: cu_split(context, 16),
}
# Counters whose phases make no difference to the energy.
_SUMS = ("activates", "dma_reads", "cu_loads", "cu_stores", "cu_additions", "tiles")
# Which simulated reduce-scatter the ideal overlap hides.
_IDEAL = {"ideal-overlap": "sequential", "ideal-rs-nmc": "rs-nmc"}


def run(workload: Workload, system: System, options: RunOptions, progress: Report) -> RunResult:
    """Simulate a workload in the configurations that the options name.

    Raises
    ------
    InputError
        If the workload does not fit the system or the options.
    SimulationError
        If the hardware reports an error, or nothing moves any more.
    """
    try:
        configurations = _Configurations(RunContext(workload, system, options, progress))
        base = configurations["sequential"]
        phases = {name: configurations[name] for name in options.configurations}
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{workload.title} on {system.name}", str(error)) from error
    ns = 1e3 / system.dram.clock_mhz
    done = configurations.done.values()
    return RunResult(
        workload=workload,
        system=system,
        options=options,
        configurations={name: _result(one, base, system) for name, one in phases.items()},
        gemm_efficiency=workload.flops / (base.gemm_cycles * ns * system.peak_flops_per_ns),
        cycles=sum(one.simulated_cycles for one in done),
        wall_s=sum(one.wall_s for one in done),
        timelines={name: one.timeline for name, one in phases.items() if one.timeline is not None},
    )


def _result(one: PhaseResult, base: PhaseResult, system: System) -> ConfigurationResult:
    ns = 1e3 / system.dram.clock_mhz
    dram_bytes, link_bytes, activity = _counts(one, system)
    return ConfigurationResult.from_times(
        gemm_ns=one.gemm_cycles * ns,
        gemm_throttled_ns=one.throttled_cycles * ns,
        tracker_stall_ns=one.stall_cycles * ns,
        rs_ns=one.rs_cycles * ns,
        ag_ns=one.ag_cycles * ns,
        total_ns=one.total_cycles * ns,
        isolated_gemm_ns=base.gemm_cycles * ns,
        sequential_ns=base.total_cycles * ns,
        dram_bytes=dram_bytes,
        link_bytes=link_bytes,
        activity=activity,
        energy_j=_energy(one, system),
        sequential_j=_energy(base, system).total,
    )


def _counts(one: PhaseResult, system: System) -> tuple[DramBytes, LinkBytes, Activity]:
    counts, atom_bytes = one.counts, system.dram.atom_bytes
    read, written, sent = counts["reads"], counts["writes"], counts["link_bytes"]
    updates = counts["updates"]
    return (
        DramBytes(
            gemm_read=int(read[GEMM]) * atom_bytes,
            gemm_write=int(written[GEMM]) * atom_bytes,
            rs_read=int(read[RS]) * atom_bytes,
            rs_write=int(written[RS]) * atom_bytes,
            ag_read=int(read[AG]) * atom_bytes,
            ag_write=int(written[AG]) * atom_bytes,
        ),
        LinkBytes(rs=int(sent[RS]), ag=int(sent[AG])),
        Activity(
            gemm_updates=int(updates[GEMM]),
            rs_updates=int(updates[RS]),
            **{name: int(counts[name].sum()) for name in _SUMS},
        ),
    )


def _energy(one: PhaseResult, system: System) -> Energy:
    return energy_of(*_counts(one, system), system, known_constants())
