"""Simulation of a plan: its configurations on its GEMMs, once or repeated."""

from sysmodel.config.system import System
from sysmodel.energy.constants import known_constants
from sysmodel.energy.counts import Activity, DramBytes, Energy, LinkBytes
from sysmodel.energy.model import energy_of
from sysmodel.gpu.slots import (
    AWAITS_L2,
    AWAITS_LINK,
    AWAITS_MEMORY,
    FILLS_LDS,
    ON_PIPE,
    STARTS,
    STORES_OUTPUT,
)
from sysmodel.lib.progress import Report, no_progress

from .configurations.registry import BASE
from .counters import AG, GEMM, RS
from .phases import PhaseResult
from .plan import Plan
from .repetition import repetition_results
from .result import ConfigurationResult, RunResult
from .simulation import RunContext
from .slots import SlotTimes

__all__ = ["simulate"]


# Counters whose phases make no difference to the energy.
_SUMS = (
    *("activates", "dma_reads", "cu_loads", "cu_stores", "cu_additions"),
    *("tiles", "flip_flop_clocks"),
)
_PHASES = {"gemm": GEMM, "rs": RS, "ag": AG}
_SLOT_FIELDS = {
    "launch_ns": STARTS,
    "l2_ns": AWAITS_L2,
    "memory_ns": AWAITS_MEMORY,
    "lds_ns": FILLS_LDS,
    "pipes_ns": ON_PIPE,
    "stores_ns": STORES_OUTPUT,
    "link_ns": AWAITS_LINK,
}


def simulate(plan: Plan, report: Report = no_progress, *, counts_clocks: bool = True) -> RunResult:
    """Simulate all repetitions of a plan.

    Parameters
    ----------
    report : callable
        Receives the progress.
    counts_clocks : bool
        Count the clock edges at the hardware's flip-flops, of which the energy has a part. For
        each number of channels the flip-flops are counted once, which takes up to minutes.

    Raises
    ------
    InputError
        The workload does not fit the system or a configuration.
    SimulationError
        The hardware reports an error, bytes are lost, or the simulation makes no progress.
    """
    first: dict[str, PhaseResult] = {}
    configurations: list[dict[str, ConfigurationResult]] = []
    cycles, wall_s = 0, 0.0
    try:
        for number in range(plan.options.repeat):
            results = _repetition(plan, report, number, counts_clocks)
            first = first or results
            cycles += sum(one.simulated_cycles for one in results.values())
            wall_s += sum(one.wall_s for one in results.values())
            configurations.append(
                {
                    name: _configuration_result(results[name], results[BASE], plan.system)
                    for name in plan.options.configurations
                }
            )
    except ValueError as error:
        raise plan.input_error(error) from error
    gemm_ns = first[BASE].gemm_cycles * plan.system.cycle_ns
    return RunResult(
        workload=plan.workload,
        system=plan.system,
        options=plan.options,
        channels=plan.channels,
        gpus=plan.gpus,
        sampling_band=plan.sampling_band,
        launches=max(1, sum(plan.launches.values())),
        simulated=plan.simulated,
        extrapolated=plan.is_extrapolated,
        configurations=configurations[0],
        varied=tuple(configurations[1:]),
        gemm_efficiency=plan.workload.flops / (gemm_ns * plan.system.peak_flops_per_ns),
        cycles=cycles,
        wall_s=wall_s,
        timelines={
            name: timeline
            for name in plan.options.configurations
            if (timeline := first[name].timeline) is not None
        },
    )


def _repetition(
    plan: Plan, report: Report, number: int, counts_clocks: bool
) -> dict[str, PhaseResult]:
    contexts = {
        kernel: RunContext(
            plan.system,
            kernel,
            plan.options,
            report,
            channels=plan.channels,
            mirror=plan.mirror,
            repetition=number,
            is_first=index == 0,
            counts_clocks=counts_clocks,
        )
        for index, kernel in enumerate(plan.kernels)
    }
    return repetition_results(plan, contexts)


def _configuration_result(
    one: PhaseResult, base: PhaseResult, system: System
) -> ConfigurationResult:
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
        withheld_gemm_ns=_ns(one.withheld_gemm_cycles, ns),
        held_gemm_ns=_ns(one.held_gemm_cycles, ns),
        sequential_ns=base.total_cycles * ns,
        dram_bytes=dram_bytes,
        link_bytes=link_bytes,
        activity=activity,
        energy_j=_energy(one, system),
        sequential_j=_energy(base, system).total,
    )


def _ns(cycles: int | None, cycle_ns: float) -> float | None:
    return None if cycles is None else cycles * cycle_ns


def _slot_times(one: PhaseResult, ns: float) -> SlotTimes:
    times = {field: float(one.slot_cycles[state] * ns) for field, state in _SLOT_FIELDS.items()}
    occupied_ns = float((one.slot_cycles * ns).sum())
    return SlotTimes(**times, empty_ns=max(0.0, one.gemm_cycles * ns - occupied_ns))


def _counts(one: PhaseResult, system: System) -> tuple[DramBytes, LinkBytes, Activity]:
    counts, atom_bytes = one.counts, system.dram.atom_bytes
    moved = {
        f"{phase}_{way}": int(counts[f"{way}s"][number]) * atom_bytes
        for phase, number in _PHASES.items()
        for way in ("read", "write")
    }
    sent, updates = counts["link_bytes"], counts["updates"]
    return (
        DramBytes(**moved),
        LinkBytes(
            *(int(sent[phase]) for phase in (RS, AG)),
            *(int(counts["link_overhead_bytes"][phase]) for phase in (RS, AG)),
        ),
        Activity(
            gemm_updates=int(updates[GEMM]),
            rs_updates=int(updates[RS]),
            **{name: int(counts[name].sum()) for name in _SUMS},
        ),
    )


def _energy(one: PhaseResult, system: System) -> Energy:
    return energy_of(*_counts(one, system), system, known_constants())
