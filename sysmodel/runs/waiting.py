"""Shares of flow control and link in a GEMM's slow-down: the GEMM alone, with the same waits."""

from dataclasses import replace

import numpy as np

from sysmodel.gpu.slots import AWAITS_LINK
from sysmodel.machine.until import UNTIL_GEMM

from .phases import PhaseResult
from .simulation import RunContext, Simulation

__all__ = ["gemm_alone", "with_time_of", "with_waits"]

# Share of the slots' time from which on waits for the link are simulated; the GEMM loses less.
_LEAST_HELD = 0.02


def gemm_alone(
    context: RunContext,
    name: str,
    withheld: np.ndarray | None = None,
    stores_held: np.ndarray | None = None,
) -> PhaseResult:
    """Simulate the GEMM with nothing beside it. Its dispatcher waits before each workgroup for the
    cycles of ``withheld``, and the workgroup waits before its stores for those of ``stores_held``,
    both by GPU and dispatch index."""
    with Simulation(context, name, cached_stores=True) as simulation:
        if withheld is not None:
            simulation.machine.state.hold[:] = withheld
        if stores_held is not None:
            simulation.machine.state.hold_stores[:] = stores_held
        simulation.machine.start_kernel()
        simulation.run("GEMM", UNTIL_GEMM)
        now = simulation.machine.now
        return PhaseResult(
            gemm_cycles=now, total_cycles=now, simulated_cycles=now, wall_s=simulation.wall_s
        )


def with_waits(context: RunContext, name: str, result: PhaseResult) -> PhaseResult:
    """Add the times of the GEMM alone with the waits of a configuration's simulation: with those
    for flow control, which kept workgroups from free slots, then also with those for the link,
    which kept the stores of workgroups from leaving their slots, unless these are few."""
    if result.withheld is not None and result.withheld.any():
        alone = gemm_alone(context, f"{name}, its waits", result.withheld)
        result = replace(with_time_of(alone, result), withheld_gemm_cycles=alone.gemm_cycles)
    if result.slot_cycles[AWAITS_LINK] >= _LEAST_HELD * result.gemm_cycles > 0:
        waits = result.withheld, result.stores_held
        alone = gemm_alone(context, f"{name}, its waits for the link", *waits)
        result = replace(with_time_of(alone, result), held_gemm_cycles=alone.gemm_cycles)
    return result


def with_time_of(alone: PhaseResult, result: PhaseResult) -> PhaseResult:
    """Add the cycles and the time of simulating the GEMM alone to a result."""
    return replace(
        result,
        simulated_cycles=result.simulated_cycles + alone.simulated_cycles,
        wall_s=result.wall_s + alone.wall_s,
    )
