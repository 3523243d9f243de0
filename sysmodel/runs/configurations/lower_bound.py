"""Lower bound of a program's time on a system, which no configuration beats."""

from collections.abc import Mapping
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.runs.counters import new_counters
from sysmodel.runs.cycle_result import CycleResult, GemmCycles
from sysmodel.runs.resource_bounds import ResourceBounds, resource_bounds

if TYPE_CHECKING:
    from sysmodel.runs.plan import Plan

__all__ = ["lower_bound"]


def lower_bound(plan: "Plan", sequential: CycleResult) -> CycleResult:
    """Find the longest of the resources' bounds; see :mod:`sysmodel.runs.resource_bounds`.

    A GEMM has its share of the longer of compute and memory, and a collective its share of the
    link's time.
    """
    program, system = plan.options.program, plan.system
    found = resource_bounds(program, plan.workload, system, plan.network.fabric)
    times = _shares(found.gemm_ns, max(found.compute_ns, found.memory_ns))
    times |= _shares(found.sent, found.link_ns)
    cycles = {name: floor(ns / system.cycle_ns) for name, ns in times.items()}
    gemms = sum(cycles[one.name] for one in program.gemms)
    collectives = sum(cycles[one.name] for one in program.collectives)
    return CycleResult(
        cycles=cycles,
        total_cycles=max(gemms, collectives),
        gemms={name: GemmCycles() for name in sequential.gemms},
        counts=_counts(plan, found),
    )


def _shares(weights: Mapping[str, float], whole: float) -> dict[str, float]:
    """Divide a whole by weights."""
    total = sum(weights.values())
    return {name: whole * weight / total for name, weight in weights.items()} if total else {}


def _counts(plan: "Plan", found: ResourceBounds) -> np.ndarray:
    """Bytes of the bound, in whole accesses and rows of the memory."""
    program, system = plan.options.program, plan.system
    counts = new_counters()
    for number, name in enumerate(program.names):
        one = counts[number : number + 1]
        one["reads"] = found.read[name] // ATOM_BYTES
        one["writes"] = found.written[name] // ATOM_BYTES
        one["activates"] = (found.read[name] + found.written[name]) // system.dram.row_bytes
        one["link_bytes"] = int(found.sent.get(name, 0))
    return counts
