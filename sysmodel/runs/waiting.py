"""Share of flow control in the slow-down of a GEMM: the GEMM alone, with the same waits."""

from dataclasses import replace

import numpy as np

from sysmodel.machine.until import UNTIL_GEMM

from .phases import PhaseResult
from .simulation import RunContext, Simulation

__all__ = ["gemm_alone", "with_waits"]


def gemm_alone(context: RunContext, name: str, withheld: np.ndarray | None = None) -> PhaseResult:
    """Simulate the GEMM alone. Its dispatcher waits before each workgroup for the cycles of
    ``withheld``, by GPU and dispatch index.
    """
    with Simulation(context, name, cached_stores=True) as simulation:
        if withheld is not None:
            simulation.machine.state.hold[:] = withheld
        simulation.machine.start_kernel()
        simulation.run("GEMM", UNTIL_GEMM)
        now = simulation.machine.now
        return PhaseResult(
            gemm_cycles=now, total_cycles=now, simulated_cycles=now, wall_s=simulation.wall_s
        )


def with_waits(context: RunContext, name: str, result: PhaseResult) -> PhaseResult:
    """Add the time of the GEMM alone with the same waits: before each workgroup, its dispatcher
    waits for the cycles for which flow control withheld a free slot in the simulation of the
    configuration.
    """
    if result.withheld is None or not result.withheld.any():
        return result
    alone = gemm_alone(context, f"{name}, its waits", result.withheld)
    return replace(
        result,
        withheld_gemm_cycles=alone.gemm_cycles,
        simulated_cycles=result.simulated_cycles + alone.simulated_cycles,
        wall_s=result.wall_s + alone.wall_s,
    )
