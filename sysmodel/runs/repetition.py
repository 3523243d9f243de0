"""Results of one repetition: every configuration once, whole GEMMs from the simulated kernels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from sysmodel.config.system import System
from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.slots import SLOT_STATES

from .configurations.registry import BASE, CONFIGURATIONS, Configuration, evaluation_order
from .counters import new_counters
from .cycle_result import CycleResult, GemmCycles, in_a_row
from .plan import LaunchCounts, Part, Plan, kernels_of
from .program.program import Chain
from .run_context import RunContext
from .waiting import gemm_alone, with_gemm, with_time_of

__all__ = ["Contexts", "repetition_results"]

Contexts = Mapping[Kernel, RunContext]
"""Context of each kernel of a part."""

_KernelResults = dict[Kernel, CycleResult]


class _Total(Protocol):
    """Sum of a value over all launches, which may depend on the depth of the sums."""

    def __call__(
        self, value: Callable[[CycleResult], float], *, deepens: bool = True
    ) -> Fraction: ...


def repetition_results(plan: Plan, contexts: Sequence[Contexts]) -> dict[str, CycleResult]:
    """Evaluate the base and the configurations of the plan; return their results by name.

    Parameters
    ----------
    contexts : sequence
        Contexts of each part of the plan.
    """
    results: dict[str, CycleResult] = {}
    steps = _steps(plan, contexts)
    parts = [_Part(*both, steps) for both in zip(plan.parts, contexts, strict=True)]
    for name in _evaluated(plan):
        configuration = CONFIGURATIONS[name]
        if configuration.of:
            others = (results[other] for other in configuration.of)
            of = plan if configuration.of_plan else plan.options.program
            results[name] = configuration.derive(of, *others)
        else:
            found = (part.result(configuration) for part in parts)
            results[name] = in_a_row(found, plan.system.cycle_ns)
    return results


def _evaluated(plan: Plan) -> list[str]:
    return evaluation_order((BASE, *plan.options.configurations))


def _steps(plan: Plan, contexts: Sequence[Contexts]) -> Iterator[str]:
    """Yield the number of each simulation of the repetition, among those of all repetitions."""
    simulated = [CONFIGURATIONS[name] for name in _evaluated(plan) if not CONFIGURATIONS[name].of]
    count = sum(
        len(kernels_of(part.launches_of(one))) * len(one.candidates(plan.system))
        for one in simulated
        for part in plan.parts
        if part.is_simulated(one)
    )
    first = next(iter(contexts[0].values())).repetition * count + 1
    for number in range(first, first + count):
        yield f"simulation {number} of {plan.options.repeat * count}"


class _Part:
    """Part of a plan in one repetition.

    Parameters
    ----------
    steps : iterator
        Numbers of the repetition's simulations.
    """

    def __init__(self, part: Part, contexts: Contexts, steps: Iterator[str]):
        self._part, self._contexts, self._steps = part, contexts, steps
        self._alone: _KernelResults = {}
        self._base: CycleResult | None = None

    def result(self, configuration: Configuration) -> CycleResult:
        """Simulate the part, unless the configuration runs it as the base does."""
        if self._base is not None and not self._part.is_simulated(configuration):
            return self._base.again()
        found: list[CycleResult] = []
        gemm = self._part.chain.gemm.name
        for candidate in configuration.candidates(self._system):
            found.append(self._simulated(configuration, candidate))
            cycles = found[-1].cycles
            if cycles.get(gemm, 0) >= sum(cycles.values()) - cycles.get(gemm, 0):
                break  # with fewer CUs, the GEMM takes longer
        if configuration.name == BASE:
            self._base = found[0]
        fastest = min(found, key=attrgetter("total_cycles"))
        return replace(
            fastest,
            simulated_cycles=sum(one.simulated_cycles for one in found),
            wall_s=sum(one.wall_s for one in found),
        )

    @property
    def _system(self) -> System:
        return next(iter(self._contexts.values())).system

    def _simulated(self, configuration: Configuration, candidate: dict[str, Any]) -> CycleResult:
        """Simulate the part with the options of a candidate."""
        counts = self._part.launches_of(configuration)
        simulated = {}
        for kernel in kernels_of(counts):
            context = self._contexts[kernel]
            context.step, context.base = next(self._steps), self._alone.get(kernel)
            simulated[kernel] = configuration.simulate(context, candidate)
        if configuration.name == BASE:
            self._alone |= simulated
        if len(simulated) > 1:
            self._add_waits(configuration.name, simulated)
        beside = configuration.beside
        return _sum_of_launches(self._part.chain, counts, simulated, beside=beside)

    def _add_waits(self, name: str, simulated: _KernelResults) -> None:
        """Complete kernels without waits beside kernels with waits: their time with waits for flow
        control is the time of their GEMM alone, which is kept, and their time with waits for the
        link is that with waits for flow control."""
        gemm = self._part.chain.gemm.name
        waits = {kernel: one.gemms[gemm] for kernel, one in simulated.items() if gemm in one.gemms}
        held = any(one.held_alone is not None for one in waits.values())
        if not held and all(one.withheld_alone is None for one in waits.values()):
            return
        for kernel, one in waits.items():
            result = simulated[kernel]
            if one.withheld_alone is None:
                if kernel not in self._alone:
                    alone = gemm_alone(self._contexts[kernel], f"{name}, GEMM alone")
                    self._alone[kernel] = alone
                    result = with_time_of(alone, result)
                one = replace(one, withheld_alone=self._alone[kernel].cycles[gemm])
            if held and one.held_alone is None:
                one = replace(one, held_alone=one.withheld_alone)
            simulated[kernel] = with_gemm(result, gemm, one)


def _sum_of_launches(
    chain: Chain, launch_counts: LaunchCounts, simulated: _KernelResults, *, beside: bool
) -> CycleResult:
    """Times and counts of all launches, from the values of the simulated kernels; ``beside``, if
    the collectives of a launch run beside its GEMM."""
    first, *others = simulated.values()
    if not others and list(launch_counts.values()) == [1]:
        return first

    def total(value: Callable[[CycleResult], float], *, deepens: bool = True) -> Fraction:
        each = [
            count * launched.value(lambda one: value(simulated[one]), deepens=deepens)
            for launched, count in launch_counts.items()
        ]
        return sum(each, Fraction(0))

    times, total_cycles = (_times_beside if beside else _times_in_a_row)(chain, total)
    counts = new_counters()
    for field, number in product(counts.dtype.names or (), range(len(counts))):
        counts[field][number] = round(total(partial(_count, field, number)))
    return CycleResult(
        cycles={name: time for name, time in times.items() if name in first.cycles},
        total_cycles=total_cycles,
        gemms={name: _gemm(one, name, total) for name, one in first.gemms.items()},
        stall_cycles=float(total(attrgetter("stall_cycles"))),
        counts=counts,
        simulated_cycles=sum(one.simulated_cycles for one in simulated.values()),
        wall_s=sum(one.wall_s for one in simulated.values()),
        timeline=first.timeline,
        chosen=first.chosen,
    )


def _cycles(name: str, result: CycleResult) -> int:
    return result.cycles.get(name, 0)


def _times_in_a_row(chain: Chain, total: _Total) -> tuple[dict[str, int], int]:
    """Time of each activity, and of all, where an all-gather follows the rest."""
    names = [one.name for one in (chain.gemm, chain.reduction, chain.gather) if one is not None]
    gemm_name, gather_name = chain.gemm.name, chain.gather.name if chain.gather else ""
    gemm = round(total(partial(_cycles, gemm_name)))
    gather = round(total(partial(_cycles, gather_name), deepens=False))

    def between_of(result: CycleResult) -> int:
        """Time between the GEMM and the all-gather."""
        return result.total_cycles - _cycles(gemm_name, result) - _cycles(gather_name, result)

    def before_of(result: CycleResult) -> int:
        """Time until the reduction begins."""
        reduction = sum(_cycles(name, result) for name in names[1:2])
        return result.total_cycles - _cycles(gather_name, result) - reduction

    between = max(0, round(total(between_of, deepens=False)))
    before = min(gemm + between, max(0, round(total(before_of))))
    times = dict(zip(names, (gemm, gemm + between - before, gather), strict=False))
    return times, gemm + between + gather


def _times_beside(chain: Chain, total: _Total) -> tuple[dict[str, int], int]:
    """Time of each activity, and of all, where the collectives run beside the GEMM."""
    gemm = chain.gemm.name
    times = {
        one.name: round(total(partial(_cycles, one.name), deepens=one.name == gemm))
        for one in chain.activities
    }

    def behind_of(result: CycleResult) -> int:
        """Time behind the longer of both."""
        return result.total_cycles - _longer(result.cycles, gemm)

    return times, _longer(times, gemm) + round(total(behind_of, deepens=False))


def _longer(times: Mapping[str, int], gemm: str) -> int:
    """Longer of the times of a GEMM and of the collectives beside it."""
    return max(times[gemm], sum(one for name, one in times.items() if name != gemm))


def _gemm(
    first: GemmCycles, name: str, total: Callable[[Callable[[CycleResult], float]], Fraction]
) -> GemmCycles:
    """Course of the GEMM of all launches; ``first`` is that of the first simulated kernel."""

    def waits(field: str) -> int | None:
        if getattr(first, field) is None:
            return None
        return round(total(lambda result: getattr(result.gemms[name], field)))

    return GemmCycles(
        throttled=round(total(lambda result: result.gemms[name].throttled)),
        slots=np.array([float(total(partial(_slot, name, one))) for one in range(SLOT_STATES)]),
        withheld_alone=waits("withheld_alone"),
        held_alone=waits("held_alone"),
    )


def _slot(name: str, state: int, result: CycleResult) -> float:
    return float(result.gemms[name].slots[state])


def _count(field: str, number: int, result: CycleResult) -> int:
    return int(result.counts[field][number])
