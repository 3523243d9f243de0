"""Simulation of a plan: its configurations on its program, once or repeated."""

from collections.abc import Mapping

from sysmodel.config.system import System
from sysmodel.energy.constants import known_constants
from sysmodel.energy.counts import DramBytes, Energy, Events, LinkBytes
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

from .configuration_result import ConfigurationResult, GemmTimes
from .configurations.registry import BASE
from .cycle_result import CycleResult, GemmCycles
from .plan import Plan
from .program.program import Program
from .repetition import Contexts, repetition_results
from .result import RunResult
from .rivals import fastest_rival
from .run_context import RunContext
from .slots import SlotTimes

__all__ = ["simulate"]


# Counters whose activities make no difference to the energy.
_SUMS = (
    *("activates", "dma_reads", "cu_loads", "cu_stores", "cu_additions"),
    *("tiles", "flip_flop_clocks"),
)
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
    first: dict[str, CycleResult] = {}
    program = plan.options.program
    configurations: list[dict[str, ConfigurationResult]] = []
    rivals: list[str] = []
    cycles, wall_s = 0, 0.0
    try:
        for number in range(plan.options.repeat):
            results = _repetition(plan, report, number, counts_clocks)
            first = first or results
            cycles += sum(one.simulated_cycles for one in results.values())
            wall_s += sum(one.wall_s for one in results.values())
            rivals.append(fastest_rival(results))
            configurations.append(
                {
                    name: _configuration_result(results, name, rivals[-1], program, plan.system)
                    for name in plan.options.configurations
                }
            )
    except ValueError as error:
        raise plan.input_error(error) from error
    return RunResult(
        workload=plan.workload,
        system=plan.system,
        options=plan.options,
        channels=plan.channels,
        gpus=plan.gpus,
        every_gpu_because=plan.every_gpu_because,
        sampling_band=plan.sampling_band,
        library=plan.library,
        launches=max(1, plan.launches),
        simulated=plan.simulated,
        extrapolated=plan.is_extrapolated,
        configurations=configurations[0],
        fastest_rival=rivals[0],
        varied=tuple(configurations[1:]),
        efficiencies=_efficiencies(plan, first[BASE]),
        cycles=cycles,
        wall_s=wall_s,
        timelines={
            name: timeline
            for name in plan.options.configurations
            if (timeline := first[name].timeline) is not None
        },
    )


def _efficiencies(plan: Plan, base: CycleResult) -> dict[str, float]:
    """Rate of each GEMM alone, as a share of the GPU's peak."""
    program, system = plan.options.program, plan.system
    return {
        one.name: program.workload_of(one, plan.workload).flops
        / (base.cycles[one.name] * system.cycle_ns * system.peak_flops_per_ns)
        for one in program.gemms
    }


def _repetition(
    plan: Plan, report: Report, number: int, counts_clocks: bool
) -> dict[str, CycleResult]:
    return repetition_results(plan, _contexts(plan, report, number, counts_clocks))


def _contexts(plan: Plan, report: Report, number: int, counts_clocks: bool) -> list[Contexts]:
    """Contexts of each part of a plan."""
    first = plan.kernels[0]
    return [
        {
            kernel: RunContext(
                plan.system,
                kernel,
                plan.options,
                report,
                channels=plan.channels,
                mirror=plan.mirror,
                network=plan.network,
                repetition=number,
                is_first=index == 0 and kernel == first,
                chain=part.chain,
                choice=part.choice,
                counts_clocks=counts_clocks,
            )
            for kernel in part.kernels
        }
        for index, part in enumerate(plan.parts)
    ]


def _configuration_result(
    results: Mapping[str, CycleResult], name: str, rival: str, program: Program, system: System
) -> ConfigurationResult:
    one, base, ns = results[name], results[BASE], system.cycle_ns
    dram_bytes, link_bytes, events = _counts(one, program, system)
    return ConfigurationResult.from_times(
        program=program,
        ns={name: one.cycles[name] * ns for name in program.names},
        gemms={
            gemm.name: _gemm_times(one.gemms[gemm.name], gemm.name, one, base, ns)
            for gemm in program.gemms
        },
        tracker_stall_ns=one.stall_cycles * ns,
        total_ns=one.total_cycles * ns,
        sequential_ns=base.total_cycles * ns,
        rival_ns=results[rival].total_cycles * ns,
        dram_bytes=dram_bytes,
        link_bytes=link_bytes,
        events=events,
        energy_j=_energy(one, program, system),
        sequential_j=_energy(base, program, system).total,
        chosen=one.chosen,
    )


def _gemm_times(
    gemm: GemmCycles, name: str, one: CycleResult, base: CycleResult, ns: float
) -> GemmTimes:
    return GemmTimes.from_times(
        ns=one.cycles[name] * ns,
        throttled_ns=gemm.throttled * ns,
        slots=_slot_times(gemm, one.cycles[name], ns),
        alone_ns=base.cycles[name] * ns,
        withheld_ns=_ns(gemm.withheld_alone, ns),
        held_ns=_ns(gemm.held_alone, ns),
    )


def _ns(cycles: int | None, cycle_ns: float) -> float | None:
    return None if cycles is None else cycles * cycle_ns


def _slot_times(gemm: GemmCycles, cycles: int, ns: float) -> SlotTimes:
    times = {field: float(gemm.slots[state] * ns) for field, state in _SLOT_FIELDS.items()}
    occupied_ns = float((gemm.slots * ns).sum())
    return SlotTimes(**times, empty_ns=max(0.0, cycles * ns - occupied_ns))


def _counts(
    one: CycleResult, program: Program, system: System
) -> tuple[DramBytes, LinkBytes, Events]:
    counts, atom_bytes = one.counts, system.dram.atom_bytes
    numbers = {activity.name: number for number, activity in enumerate(program.activities)}
    collectives = {activity.name: numbers[activity.name] for activity in program.collectives}
    sent, headers = counts["link_bytes"], counts["link_overhead_bytes"]
    return (
        DramBytes(
            read={name: int(counts["reads"][i]) * atom_bytes for name, i in numbers.items()},
            write={name: int(counts["writes"][i]) * atom_bytes for name, i in numbers.items()},
        ),
        LinkBytes(
            payload={name: int(sent[i]) for name, i in collectives.items()},
            overhead={name: int(headers[i]) for name, i in collectives.items()},
        ),
        Events(
            updates={name: int(counts["updates"][numbers[name]]) for name in program.updaters},
            **{name: int(counts[name].sum()) for name in _SUMS},
        ),
    )


def _energy(one: CycleResult, program: Program, system: System) -> Energy:
    return energy_of(*_counts(one, program, system), system, known_constants())
