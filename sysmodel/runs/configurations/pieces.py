"""GEMM cut into a piece for each owner of its output's chunks: kernels one after the other."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sysmodel.config.workload import ELEMENT_BYTES
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.slots import EMPTY
from sysmodel.lib.errors import SimulationError
from sysmodel.machine.queue import Queued
from sysmodel.machine.until import UNTIL_GEMM
from sysmodel.runs.conservation import unwritten
from sysmodel.runs.counters import new_counters
from sysmodel.runs.cycle_result import CycleResult, GemmCycles
from sysmodel.runs.run_context import RunContext
from sysmodel.runs.simulation import Simulation

__all__ = ["pieces"]

_PAGE_ATOMS = (2 << 20) // ATOM_BYTES  # places of buffers, as cudaMalloc gives them


def pieces(context: RunContext, name: str) -> CycleResult:
    """Simulate the pieces of a GEMM on one GPU alone.

    The first two are simulated: one without anything in the L2, and one that may find the operand
    that all have in common. Each other piece is as the second, and is launched while the one before
    runs.
    """
    gemm, number = context.chain.gemm, context.number(context.chain.gemm)
    others = context.network.gpus - 1
    behind = Queued(_behind(context.kernel))
    with Simulation(context, name, cached_stores=True, behind=(behind,)) as simulation:
        machine, after = simulation.machine, []
        for place in (0, 1):
            machine.start_kernel(number=place)
            simulation.run((number,), UNTIL_GEMM)
            after.append(_counted(simulation, number))
        _check_stored(simulation, number)
        first, both = after
        both = both._replace(cycles=both.cycles - machine.kernel_launch_cycles(0))
        whole = _of_all(first, both, others)
        counts = new_counters()
        counts["activates"][number] = whole.activates * float(machine.whole)
        counts["reads"][number] = whole.reads * float(machine.whole)
        counts["writes"][number] = (1 + others) * context.kernel.chunk_atoms.sum()
        return CycleResult(
            cycles={gemm.name: whole.cycles},
            total_cycles=whole.cycles,
            gemms={gemm.name: GemmCycles(slots=whole.slots)},
            counts=counts,
            simulated_cycles=machine.now,
            wall_s=simulation.wall_s,
        )


class _Counted(NamedTuple):
    """Cycles of a simulation, and its events so far."""

    cycles: int
    reads: int
    activates: int
    slots: np.ndarray


def _counted(simulation: Simulation, number: int) -> _Counted:
    state = simulation.machine.state
    slots = state.gpu["slot_cycles"][0] / state.fixed["slots"][0]
    slots[EMPTY] = 0.0
    return _Counted(
        simulation.machine.now,
        int(state.gpu["reads"][0, number]),
        int(state.dram.channel["activate_count"].sum()),
        slots,
    )


def _of_all(first: _Counted, both: _Counted, others: int) -> _Counted:
    """Counts of a first piece and of so many others, which are as the second one."""
    return _Counted(
        first.cycles + others * (both.cycles - first.cycles),
        first.reads + others * (both.reads - first.reads),
        first.activates + others * (both.activates - first.activates),
        first.slots + others * (both.slots - first.slots),
    )


def _check_stored(simulation: Simulation, number: int) -> None:
    """Check that both pieces have stored their output.

    Raises
    ------
    SimulationError
        An atom is missing or surplus.
    """
    state = simulation.machine.state
    stored = int(state.gpu["writes"][0, number]) + unwritten(state)
    if stored != len(state.output_atom):
        raise SimulationError(
            f"bytes are not conserved: pieces of a GEMM stored {stored * ATOM_BYTES} bytes in the "
            f"simulated channels, and {len(state.output_atom) * ATOM_BYTES} must be stored"
        )


def _behind(kernel: Kernel) -> Kernel:
    """Place the next piece: its rows of the output and of A are others, and B is the same."""
    tiling, place = kernel.tiling, kernel.placement
    rows_bytes = tiling.m * tiling.k * ELEMENT_BYTES
    return replace(
        kernel,
        placement=replace(
            place,
            output_atom=_page_after(kernel.output_end),
            a_atom=_page_after(place.a_atom + rows_bytes // ATOM_BYTES),
        ),
    )


def _page_after(atom: int) -> int:
    return -(-atom // _PAGE_ATOMS) * _PAGE_ATOMS
