"""Shares of flow control and link in a GEMM's slow-down: the GEMM alone, with the same waits."""

from dataclasses import replace

import numpy as np

from sysmodel.gpu.slots import AWAITS_LINK
from sysmodel.machine.until import UNTIL_GEMM

from .cycle_result import CycleResult, GemmCycles
from .run_context import RunContext
from .simulation import Simulation

__all__ = ["gemm_alone", "with_gemm", "with_time_of", "with_waits"]

# Share of the slots' time from which on waits for the link are simulated; the GEMM loses less.
_LEAST_HELD = 0.02


def gemm_alone(
    context: RunContext,
    name: str,
    withheld: np.ndarray | None = None,
    stores_held: np.ndarray | None = None,
) -> CycleResult:
    """Simulate the GEMM with nothing beside it. Its dispatcher waits before each workgroup for the
    cycles of ``withheld``, and the workgroup waits before its stores for those of ``stores_held``,
    both by GPU and dispatch index."""
    with Simulation(context, name, cached_stores=True) as simulation:
        if withheld is not None:
            simulation.machine.state.hold[:] = withheld
        if stores_held is not None:
            simulation.machine.state.hold_stores[:] = stores_held
        simulation.machine.start_kernel()
        simulation.run((context.number(context.chain.gemm),), UNTIL_GEMM)
        now = simulation.machine.now
        return CycleResult(
            cycles={context.chain.gemm.name: now},
            total_cycles=now,
            simulated_cycles=now,
            wall_s=simulation.wall_s,
        )


def with_waits(context: RunContext, name: str, result: CycleResult) -> CycleResult:
    """Add the times of the GEMM alone with the waits of a configuration's simulation: with those
    for flow control, which kept workgroups from free slots, then also with those for the link,
    which kept the stores of workgroups from leaving their slots, unless these are few."""
    gemm = context.chain.gemm.name
    waits = result.gemms[gemm]
    if waits.withheld is not None and waits.withheld.any():
        alone = gemm_alone(context, f"{name}, its waits", waits.withheld)
        waits = replace(waits, withheld_alone=alone.cycles[gemm])
        result = with_gemm(with_time_of(alone, result), gemm, waits)
    if waits.slots[AWAITS_LINK] >= _LEAST_HELD * result.cycles[gemm] > 0:
        held = waits.withheld, waits.stores_held
        alone = gemm_alone(context, f"{name}, its waits for the link", *held)
        waits = replace(waits, held_alone=alone.cycles[gemm])
        result = with_gemm(with_time_of(alone, result), gemm, waits)
    return result


def with_gemm(result: CycleResult, name: str, gemm: GemmCycles) -> CycleResult:
    """Replace the course of a GEMM in a result."""
    return replace(result, gemms=result.gemms | {name: gemm})


def with_time_of(alone: CycleResult, result: CycleResult) -> CycleResult:
    """Add the cycles and the time of simulating the GEMM alone to a result."""
    return replace(
        result,
        simulated_cycles=result.simulated_cycles + alone.simulated_cycles,
        wall_s=result.wall_s + alone.wall_s,
    )
