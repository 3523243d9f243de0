"""Collectives by kernels on the CUs: the steps of a schedule, one after the other."""

from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import Chunk, Expanded, Operation, expanded
from sysmodel.collectives.steps import Step, steps_of
from sysmodel.gpu.collective_step import atoms_of, begin_step, reserve_tasks
from sysmodel.gpu.kernel import Kernel
from sysmodel.machine.until import UNTIL_COLLECTIVE, UNTIL_PROGRAMMED, UNTIL_QUIET

from .collective_layout import ChunkAtoms, CollectiveLayout
from .counters import AG, RS
from .simulation import RunContext, Simulation

__all__ = [
    "LAST_ADDITION",
    "CollectiveKernel",
    "CollectivePlan",
    "Moved",
    "all_gather",
    "reduce_scatter",
]

LAST_ADDITION = "last addition"
_SPANS = {RS: ("RS", "reduce-scatter"), AG: ("AG", "all-gather")}


def reduce_scatter(context: RunContext, simulation: Simulation, *, alone: bool = True) -> int:
    """Reduce and scatter the output; return the number of cycles.

    With ``alone``, no other kernel runs, and the collective ends when the memory is idle.
    """
    return _of_library("reduce-scatter", context, simulation, alone)


def all_gather(context: RunContext, simulation: Simulation, *, alone: bool = True) -> int:
    """Gather the reduced chunks; return the number of cycles."""
    return _of_library("all-gather", context, simulation, alone)


def _of_library(
    operation: Operation, context: RunContext, simulation: Simulation, alone: bool
) -> int:
    schedule = expanded(algorithm("ring").schedule(operation, context.kernel.gpus))
    plan = CollectivePlan(context.kernel, context.system.dram.channels, schedule)
    return CollectiveKernel(context, simulation, plan, alone=alone).run()


@dataclass
class Moved:
    """Atoms that the steps move in the simulated channels of a GPU.

    Parameters
    ----------
    read, written, sent : int
        Loads of the CUs, writes to the memory, and atoms that leave.
    """

    read: int = 0
    written: int = 0
    sent: int = 0


class Half(NamedTuple):
    """Steps that reduce, or steps that do not, with the layout of their data."""

    phase: int
    steps: list[Step]
    layout: CollectiveLayout


class CollectivePlan:
    """Steps of a schedule on the output of a kernel.

    Parameters
    ----------
    channels : int
        Memory channels of a GPU.
    atoms : callable or None
        Atoms of each chunk; None if each chunk is the whole part of its owner.
    """

    def __init__(
        self, kernel: Kernel, channels: int, schedule: Expanded, atoms: ChunkAtoms | None = None
    ):
        self.halves = []
        for reduces, grouped in groupby(
            steps_of(schedule), key=lambda step: schedule.reduces[step.stage]
        ):
            steps = list(grouped)
            layout = CollectiveLayout(kernel, channels, steps, atoms, schedule.parts)
            self.halves.append(Half(RS if reduces else AG, steps, layout))

    @property
    def windowed(self) -> bool:
        """True if a GPU sends to others than its neighbour downstream."""
        return any(half.layout.windowed for half in self.halves)


class CollectiveKernel:
    """Kernel that runs a schedule on the CUs of all GPUs of a simulation.

    Parameters
    ----------
    alone : bool
        No other kernel runs, and the collective ends when the memory is idle.

    Attributes
    ----------
    moved : list of Moved
        For each simulated GPU, the atoms of the steps that have begun.
    """

    def __init__(
        self,
        context: RunContext,
        simulation: Simulation,
        plan: CollectivePlan,
        *,
        alone: bool = True,
    ):
        self._context, self._simulation, self._alone = context, simulation, alone
        self._machine, self._halves = simulation.machine, plan.halves
        self.moved = [Moved() for _ in range(self._machine.gpus)]
        tasks = [
            [half.layout.task(rank, one) for one in work]
            for half in self._halves
            for step in half.steps
            for rank, work in enumerate(step.work[: self._machine.gpus])
        ]
        self._machine.state = reserve_tasks(self._machine.state, tasks)

    def run(self) -> int:
        """Run all steps; return the number of cycles."""
        return sum(
            self._run_half(half, launches=number == 0) for number, half in enumerate(self._halves)
        )

    def _run_half(self, half: Half, *, launches: bool) -> int:
        """Run the steps that reduce, or those that do not."""
        machine, simulation, context = self._machine, self._simulation, self._context
        phase, steps = half.phase, half.steps
        name, span = _SPANS[phase]
        self._map(half)
        begin = machine.now
        if launches:
            simulation.launch_kernel(phase)
        protocol = context.protocol
        simulation.idle(protocol.reduce_scatter_ns if phase == RS else protocol.all_gather_ns)
        # A concurrent GEMM has another output.
        flushes = context.system.l2.flush_at_kernel_end
        machine.state.fixed["uses_l2"] = self._alone and not flushes
        for step in steps:
            last = machine.now
            if step.sends:
                simulation.idle(protocol.step_ns)
            self._begin(step, half.layout)
            simulation.run(name, UNTIL_COLLECTIVE)
        if self._alone:
            simulation.run(name, UNTIL_QUIET)
        machine.state.fixed["uses_l2"] = 0
        simulation.span(span, "Communication", begin, machine.now)
        if not steps[-1].sends:
            simulation.span(LAST_ADDITION, "Last addition", last, machine.now)
        return machine.now - begin

    def _map(self, half: Half) -> None:
        """Map the addresses to which the steps store, so that stores to other GPUs leave."""
        machine = self._machine
        machine.await_cleared()
        self._simulation.program([half.layout.writes()] * machine.gpus, UNTIL_PROGRAMMED)
        machine.begin_collective(half.phase)
        if self._context.mirror:
            machine.state.fixed["copy_offset"] = half.layout.arrivals_offset

    def _begin(self, step: Step, layout: CollectiveLayout) -> None:
        """Start every GPU on its work, and let it expect its arrivals."""
        state = self._machine.state
        if self._context.mirror and step.sends:
            state.fixed["copy_from"] = step.work[0][0].chunk.owner
            state.fixed["copy_to"] = step.arriving[0][0].owner
            state.gpu["copied"] = 0

        def size(chunk: Chunk) -> int:
            return atoms_of(state, chunk.owner, layout.within(chunk))

        for g, moved in enumerate(self.moved):
            begin_step(state, g, [layout.task(g, one) for one in step.work[g]])
            arriving = sum(map(size, step.arriving[g]))
            state.gpu["expected"][g] += arriving
            moved.written += arriving
            for one in step.work[g]:
                kept = sum(peer == g for peer, _ in one.targets)
                leaving = len(one.targets) - kept
                moved.read += len(one.operands) * size(one.chunk)
                moved.written += kept * size(one.chunk)
                moved.sent += (min(leaving, 1) if one.multicast else leaving) * size(one.chunk)
