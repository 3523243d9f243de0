"""Results of one repetition: every configuration once, whole GEMMs from the simulated kernels."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from operator import attrgetter

import numpy as np

from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.slots import SLOT_STATES

from .configurations.registry import BASE, CONFIGURATIONS, Configuration, evaluation_order
from .counters import new_counters
from .phases import PhaseResult
from .plan import LaunchCounts, Plan, kernels_of
from .simulation import RunContext
from .waiting import gemm_alone, with_time_of

__all__ = ["repetition_results"]

KernelResults = dict[Kernel, PhaseResult]


def repetition_results(plan: Plan, contexts: Mapping[Kernel, RunContext]) -> dict[str, PhaseResult]:
    """Evaluate the base and the configurations of the plan; return their results by name.

    Parameters
    ----------
    contexts : mapping
        Context of each kernel of the plan.
    """
    results: dict[str, PhaseResult] = {}
    alone: KernelResults = {}
    steps = _steps(plan, contexts)
    for name in evaluation_order((BASE, *plan.options.configurations)):
        configuration = CONFIGURATIONS[name]
        if configuration.of:
            results[name] = configuration.derive(*(results[other] for other in configuration.of))
            continue
        counts = _launch_counts(plan, configuration)
        simulated = {}
        for kernel in kernels_of(counts):
            contexts[kernel].step = next(steps)
            simulated[kernel] = configuration.simulate(contexts[kernel])
        if name == BASE:
            alone |= simulated
        if len(simulated) > 1:
            _add_waits(name, simulated, contexts, alone)
        results[name] = _sum_of_launches(counts, simulated)
    return results


def _launch_counts(plan: Plan, configuration: Configuration) -> LaunchCounts:
    return plan.launches if configuration.tracked else plan.whole


def _steps(plan: Plan, contexts: Mapping[Kernel, RunContext]) -> Iterator[str]:
    """Yield the number of each simulation of the repetition, among those of all repetitions."""
    names = evaluation_order((BASE, *plan.options.configurations))
    simulated = [CONFIGURATIONS[name] for name in names if not CONFIGURATIONS[name].of]
    count = sum(len(kernels_of(_launch_counts(plan, one))) for one in simulated)
    first = next(iter(contexts.values())).repetition * count + 1
    for number in range(first, first + count):
        yield f"simulation {number} of {plan.options.repeat * count}"


def _add_waits(
    name: str,
    simulated: KernelResults,
    contexts: Mapping[Kernel, RunContext],
    alone: KernelResults,
) -> None:
    """Complete kernels without waits beside kernels with waits: their time with waits for flow
    control is the time of their GEMM alone, which ``alone`` collects, and their time with waits for
    the link is that with waits for flow control."""
    held = any(one.held_gemm_cycles is not None for one in simulated.values())
    if not held and all(one.withheld_gemm_cycles is None for one in simulated.values()):
        return
    for kernel, result in simulated.items():
        if result.withheld_gemm_cycles is None:
            if kernel not in alone:
                alone[kernel] = gemm_alone(contexts[kernel], f"{name}, GEMM alone")
                result = with_time_of(alone[kernel], result)
            result = replace(result, withheld_gemm_cycles=alone[kernel].gemm_cycles)
        if held and result.held_gemm_cycles is None:
            result = replace(result, held_gemm_cycles=result.withheld_gemm_cycles)
        simulated[kernel] = result


def _sum_of_launches(launch_counts: LaunchCounts, simulated: KernelResults) -> PhaseResult:
    """Times and counts of all launches, from the values of the simulated kernels."""
    first, *others = simulated.values()
    if not others and list(launch_counts.values()) == [1]:
        return first

    def total(value: Callable[[PhaseResult], float], *, deepens: bool = True) -> Fraction:
        each = [
            count * launched.value(lambda one: value(simulated[one]), deepens=deepens)
            for launched, count in launch_counts.items()
        ]
        return sum(each, Fraction(0))

    gemm = round(total(attrgetter("gemm_cycles")))
    ag = round(total(attrgetter("ag_cycles"), deepens=False))
    between = max(0, round(total(_between, deepens=False)))
    before_rs = min(gemm + between, max(0, round(total(_before_rs))))
    counts = new_counters()
    for field, phase in product(counts.dtype.names or (), range(len(counts))):
        counts[field][phase] = round(total(partial(_count, field, phase)))

    def waits(name: str) -> int | None:
        return None if getattr(first, name) is None else round(total(attrgetter(name)))

    return PhaseResult(
        gemm_cycles=gemm,
        rs_cycles=gemm + between - before_rs,
        ag_cycles=ag,
        total_cycles=gemm + between + ag,
        throttled_cycles=round(total(attrgetter("throttled_cycles"))),
        slot_cycles=np.array([float(total(partial(_slot, state))) for state in range(SLOT_STATES)]),
        stall_cycles=float(total(attrgetter("stall_cycles"))),
        withheld_gemm_cycles=waits("withheld_gemm_cycles"),
        held_gemm_cycles=waits("held_gemm_cycles"),
        counts=counts,
        simulated_cycles=sum(one.simulated_cycles for one in simulated.values()),
        wall_s=sum(one.wall_s for one in simulated.values()),
        timeline=first.timeline,
    )


def _slot(state: int, result: PhaseResult) -> float:
    return float(result.slot_cycles[state])


def _between(result: PhaseResult) -> int:
    """Time between the GEMM and the all-gather."""
    return result.total_cycles - result.gemm_cycles - result.ag_cycles


def _before_rs(result: PhaseResult) -> int:
    """Time until the reduce-scatter begins."""
    return result.total_cycles - result.ag_cycles - result.rs_cycles


def _count(field: str, phase: int, result: PhaseResult) -> int:
    return int(result.counts[field][phase])
