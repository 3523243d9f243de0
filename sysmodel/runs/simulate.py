"""A run: some of the configurations on one workload."""

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.energy.constants import known_constants
from sysmodel.energy.counts import Activity, DramBytes, Energy, LinkBytes
from sysmodel.energy.model import energy_of
from sysmodel.gpu.slots import (
    AWAITS_L2,
    AWAITS_MEMORY,
    FILLS_LDS,
    ON_PIPE,
    STARTS,
    STORES_OUTPUT,
)
from sysmodel.lib.errors import InputError
from sysmodel.lib.phases import AG, GEMM, RS

from .phases import PhaseResult, Report, RunContext
from .plan import Plan
from .result import ConfigurationResult, RunOptions, RunResult
from .slots import SlotTimes
from .whole import Whole

__all__ = ["run"]


# Counters whose phases make no difference to the energy.
_SUMS = (
    "activates",
    "dma_reads",
    "cu_loads",
    "cu_stores",
    "cu_additions",
    "tiles",
    "flip_flop_clocks",
)


def run(workload: Workload, system: System, options: RunOptions, progress: Report) -> RunResult:
    """Simulate a workload in the configurations that the options name, once or several times.

    Raises
    ------
    InputError
        If the workload does not fit the system or the options.
    SimulationError
        If the hardware reports an error, or nothing moves any more.
    """
    try:
        plan = Plan(workload, system, options)
        first, *others = (
            _Repetition(plan, system, options, progress, repetition)
            for repetition in range(options.repeat)
        )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{workload.title} on {system.name}", str(error)) from error
    return RunResult(
        workload=workload,
        system=system,
        options=options,
        channels=plan.channels,
        launches=max(1, sum(plan.launches.values())),
        simulated=plan.simulated,
        extrapolated=plan.is_extrapolated,
        configurations=first.measured,
        varied=tuple(one.measured for one in others),
        gemm_efficiency=workload.flops / (first.gemm_ns * system.peak_flops_per_ns),
        cycles=sum(one.cycles for one in (first, *others)),
        wall_s=sum(one.wall_s for one in (first, *others)),
        timelines=first.timelines,
    )


class _Repetition:
    """What is kept of a repetition: results, how long it took, and of the first its timelines."""

    def __init__(
        self, plan: Plan, system: System, options: RunOptions, report: Report, repetition: int
    ):
        results = Whole(
            plan,
            {
                kernel: RunContext(
                    system,
                    kernel,
                    options,
                    report,
                    channels=plan.channels,
                    repetition=repetition,
                    is_first=index == 0,
                )
                for index, kernel in enumerate(plan.kernels)
            },
        )
        base = results["sequential"]
        phases = {name: results[name] for name in options.configurations}
        self.measured = {name: _result(one, base, system) for name, one in phases.items()}
        self.gemm_ns = base.gemm_cycles * system.cycle_ns
        self.cycles = sum(one.simulated_cycles for one in results.values())
        self.wall_s = sum(one.wall_s for one in results.values())
        self.timelines = {
            name: one.timeline
            for name, one in phases.items()
            if one.timeline is not None and repetition == 0
        }


def _result(one: PhaseResult, base: PhaseResult, system: System) -> ConfigurationResult:
    ns = system.cycle_ns
    dram_bytes, link_bytes, activity = _counts(one, system)
    return ConfigurationResult.from_times(
        gemm_ns=one.gemm_cycles * ns,
        gemm_throttled_ns=one.throttled_cycles * ns,
        gemm_slots=_slot_times(one, ns),
        tracker_stall_ns=one.stall_cycles * ns,
        rs_ns=one.rs_cycles * ns,
        ag_ns=one.ag_cycles * ns,
        total_ns=one.total_cycles * ns,
        isolated_gemm_ns=base.gemm_cycles * ns,
        withheld_gemm_ns=(
            None if one.withheld_gemm_cycles is None else one.withheld_gemm_cycles * ns
        ),
        sequential_ns=base.total_cycles * ns,
        dram_bytes=dram_bytes,
        link_bytes=link_bytes,
        activity=activity,
        energy_j=_energy(one, system),
        sequential_j=_energy(base, system).total,
    )


def _slot_times(one: PhaseResult, ns: float) -> SlotTimes:
    times = one.slot_cycles * ns
    return SlotTimes(
        launch_ns=float(times[STARTS]),
        l2_ns=float(times[AWAITS_L2]),
        memory_ns=float(times[AWAITS_MEMORY]),
        lds_ns=float(times[FILLS_LDS]),
        pipes_ns=float(times[ON_PIPE]),
        stores_ns=float(times[STORES_OUTPUT]),
        empty_ns=max(0.0, one.gemm_cycles * ns - float(times.sum())),
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
