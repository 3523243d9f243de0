"""How much of a GEMM's slow-down is waiting for flow control: the waits, and nothing else."""

from dataclasses import replace

from sysmodel.machine.until import UNTIL_GEMM

from .phases import PhaseResult, RunContext, Simulation

__all__ = ["with_waits"]


def with_waits(context: RunContext, name: str, result: PhaseResult) -> PhaseResult:
    """Add what the GEMM alone takes if its dispatcher waits as long before each workgroup as flow
    control made it wait in a configuration's simulation, with free slots at hand."""
    if result.withheld is None or not result.withheld.any():
        return result
    with Simulation(context, f"{name}, its waits", cached_stores=True) as simulation:
        machine = simulation.machine
        machine.state.hold[:] = result.withheld
        machine.start_kernel()
        simulation.run("GEMM", UNTIL_GEMM)
        return replace(
            result,
            withheld_gemm_cycles=machine.now,
            simulated_cycles=result.simulated_cycles + machine.now,
            wall_s=result.wall_s + simulation.wall_s,
        )
