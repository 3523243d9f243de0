"""How much of a GEMM's slow-down is waiting for flow control: the waits, and nothing else."""

from dataclasses import replace

import numpy as np

from sysmodel.machine.until import UNTIL_GEMM

from .phases import PhaseResult, RunContext, Simulation

__all__ = ["gemm_alone", "with_waits"]


def gemm_alone(context: RunContext, name: str, withheld: np.ndarray | None = None) -> PhaseResult:
    """Simulate the GEMM with nothing beside it, its dispatcher held up before each workgroup for
    as many cycles as ``withheld`` says, by GPU and dispatch index."""
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
    """Add what the GEMM alone takes if its dispatcher waits as long before each workgroup as flow
    control made it wait in a configuration's simulation, with free slots at hand."""
    if result.withheld is None or not result.withheld.any():
        return result
    alone = gemm_alone(context, f"{name}, its waits", result.withheld)
    return replace(
        result,
        withheld_gemm_cycles=alone.gemm_cycles,
        simulated_cycles=result.simulated_cycles + alone.simulated_cycles,
        wall_s=result.wall_s + alone.wall_s,
    )
