"""The whole of a run from the parts that are simulated, each configuration once."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from operator import attrgetter

import numpy as np

from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.slots import SLOT_STATES

from .configurations.registry import CONFIGURATIONS
from .counters import new_counters
from .phases import PhaseResult, RunContext
from .plan import Parts, Plan, kernels_of
from .waiting import gemm_alone

__all__ = ["Whole"]

Results = dict[Kernel, PhaseResult]


class Whole(dict[str, PhaseResult]):
    """What the configurations of one repetition give, by name; simulated when asked for.

    Parameters
    ----------
    contexts : dict
        Of each kernel of the plan.
    """

    def __init__(self, plan: Plan, contexts: dict[Kernel, RunContext]):
        super().__init__()
        self._plan, self._contexts = plan, contexts
        self._alone: dict[Kernel, PhaseResult] = {}

    def __missing__(self, name: str) -> PhaseResult:
        configuration = CONFIGURATIONS[name]
        of = [self[other] for other in configuration.of]
        if of:
            self[name] = configuration.simulate(None, name, *of)
            return self[name]
        parts = self._plan.launches if configuration.tracked else self._plan.whole
        results = {
            kernel: configuration.simulate(self._contexts[kernel], name)
            for kernel in kernels_of(parts)
        }
        if not configuration.tracked:
            self._alone |= results
        self[name] = self._combined(name, parts, results)
        return self[name]

    def _combined(self, name: str, parts: Parts, results: Results) -> PhaseResult:
        """Times and counts of all launches, from those of the kernels that were simulated."""
        first, *others = results.values()
        if not others and list(parts.values()) == [1]:
            return first
        if any(one.withheld_gemm_cycles is not None for one in results.values()):
            results = {
                kernel: self._with_alone(name, kernel, one) for kernel, one in results.items()
            }
            first = next(iter(results.values()))

        def total(value: Callable[[PhaseResult], float], *, deepens: bool = True) -> Fraction:
            each = [
                count * part.value(lambda one: value(results[one]), deepens=deepens)
                for part, count in parts.items()
            ]
            return sum(each, Fraction(0))

        gemm = round(total(attrgetter("gemm_cycles")))
        ag = round(total(attrgetter("ag_cycles"), deepens=False))
        rest = max(0, round(total(_rest, deepens=False)))
        lead = min(gemm + rest, max(0, round(total(_lead))))
        counts = new_counters()
        for field, phase in product(counts.dtype.names or (), range(len(counts))):
            counts[field][phase] = round(total(partial(_count, field, phase)))
        waits = first.withheld_gemm_cycles is not None
        return PhaseResult(
            gemm_cycles=gemm,
            rs_cycles=gemm + rest - lead,
            ag_cycles=ag,
            total_cycles=gemm + rest + ag,
            throttled_cycles=round(total(attrgetter("throttled_cycles"))),
            slot_cycles=np.array(
                [float(total(partial(_slot, state))) for state in range(SLOT_STATES)]
            ),
            stall_cycles=float(total(attrgetter("stall_cycles"))),
            withheld_gemm_cycles=(
                round(total(attrgetter("withheld_gemm_cycles"))) if waits else None
            ),
            counts=counts,
            simulated_cycles=sum(one.simulated_cycles for one in results.values()),
            wall_s=sum(one.wall_s for one in results.values()),
            timeline=first.timeline,
        )

    def _with_alone(self, name: str, kernel: Kernel, result: PhaseResult) -> PhaseResult:
        """A part without waits beside parts with some: its GEMM alone is what the others add to."""
        if result.withheld_gemm_cycles is not None:
            return result
        if kernel not in self._alone:
            self._alone[kernel] = gemm_alone(self._contexts[kernel], f"{name}, GEMM alone")
            alone = self._alone[kernel]
            result = replace(
                result,
                simulated_cycles=result.simulated_cycles + alone.simulated_cycles,
                wall_s=result.wall_s + alone.wall_s,
            )
        return replace(result, withheld_gemm_cycles=self._alone[kernel].gemm_cycles)


def _slot(state: int, result: PhaseResult) -> float:
    return float(result.slot_cycles[state])


def _rest(result: PhaseResult) -> int:
    """Time between the GEMM and the all-gather."""
    return result.total_cycles - result.gemm_cycles - result.ag_cycles


def _lead(result: PhaseResult) -> int:
    """Time until the reduce-scatter begins."""
    return result.total_cycles - result.ag_cycles - result.rs_cycles


def _count(field: str, phase: int, result: PhaseResult) -> int:
    return int(result.counts[field][phase])
