"""Collectives by kernels on the CUs: the steps of a schedule, one after the other."""

from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from sysmodel.collectives.schedule import Chunk, Expanded
from sysmodel.collectives.steps import Step, steps_of
from sysmodel.config.system import System
from sysmodel.gpu.collective_step import atoms_of, begin_step, reserve_tasks
from sysmodel.gpu.kernel import Kernel
from sysmodel.machine.until import UNTIL_COLLECTIVE, UNTIL_QUIET

from .collective_layout import ChunkAtoms, CollectiveLayout
from .conservation import Moves
from .program.activities import Collective
from .run_context import RunContext
from .run_network import RunNetwork
from .simulation import Simulation

__all__ = [
    "LAST_ADDITION",
    "ChainKernel",
    "CollectiveKernel",
    "CollectivePlan",
    "Moved",
    "chain_kernels",
    "moves_of",
    "plan_of",
]

LAST_ADDITION = "last addition"
# Titles of halves that reduce, and of halves that do not.
_TITLES = {True: "RS", False: "AG"}
_SPANS = {True: "reduce-scatter", False: "all-gather"}
_STREAMED = "all-reduce"
_CLOSED_FORMS = "ring"  # algorithm for which the conservation has closed forms


class ChainKernel(NamedTuple):
    """Collective of a chain as a kernel on the CUs."""

    activity: Collective
    number: int
    place: int
    plan: "CollectivePlan"

    @property
    def name(self) -> str:
        """Name of the activity."""
        return self.activity.name

    def run(self, context: RunContext, simulation: Simulation, *, alone: bool = True) -> int:
        """Run the collective; return the number of cycles.

        With ``alone``, no other kernel runs, and the collective ends when the memory is idle.
        """
        kernel = CollectiveKernel(
            context, simulation, self.plan, alone=alone, activity=self.activity, place=self.place
        )
        return kernel.run()


def chain_kernels(context: RunContext) -> list[ChainKernel]:
    """Kernels of a chain's collectives, in their order."""
    return [
        ChainKernel(
            one,
            context.number(one),
            place,
            plan_of(one, context.kernel, context.network),
        )
        for place, one in enumerate(context.chain.collectives, start=1)
    ]


def plan_of(collective: Collective, kernel: Kernel, network: RunNetwork) -> "CollectivePlan":
    """Plan a collective of a kernel's output."""
    schedule = network.schedule(collective.operation, collective.algorithm)
    return CollectivePlan(kernel, network.system, schedule)


def moves_of(context: RunContext) -> Moves:
    """Chunks that a chain moves if kernels on the CUs run its collectives."""
    chain, found = context.chain, {}
    others = []
    for one in chain.collectives:
        number = context.number(one)
        schedule = context.network.schedule(one.operation, one.algorithm)
        if schedule.name == _CLOSED_FORMS and one.operation != "all-reduce":
            found["scatter" if one.reduces else "gather"] = number
        else:
            others.append((number, schedule))
    return Moves(
        gemm=context.number(chain.gemm),
        scatter=found.get("scatter"),
        gather=found.get("gather"),
        others=tuple(others),
    )


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
    """Steps that reduce, or steps that do not, with the layout of their data; or both in one step,
    if the schedule streams."""

    name: str
    reduces: bool
    steps: list[Step]
    layout: CollectiveLayout


class CollectivePlan:
    """Steps of a schedule on the output of a kernel.

    Parameters
    ----------
    atoms : callable or None
        Atoms of each chunk; None if the chunks of an owner are all of its part.
    """

    def __init__(
        self, kernel: Kernel, system: System, schedule: Expanded, atoms: ChunkAtoms | None = None
    ):
        self.halves = []
        for reduces, grouped in groupby(
            steps_of(schedule), key=lambda step: schedule.reduces[step.stage]
        ):
            steps = list(grouped)
            layout = CollectiveLayout(kernel, system, steps, atoms, schedule.parts)
            name = _STREAMED if schedule.streams else _SPANS[reduces]
            self.halves.append(Half(name, reduces, steps, layout))

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
    activity : Collective or None
        Activity of the program; None for a collective beside a program, which counts as that of the
        machine's communication.
    place : int
        Place among the machine's kernels; the GEMM has place 0.

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
        activity: Collective | None = None,
        place: int = 1,
    ):
        self._context, self._simulation, self._alone = context, simulation, alone
        self._activity, self._place = activity, place
        self._machine, self._halves = simulation.machine, plan.halves
        self.moved = [Moved() for _ in range(self._machine.gpus)]
        tasks = [
            half.layout.tasks(rank, work)
            for half in self._halves
            for step in half.steps
            for rank, work in enumerate(step.work[: self._machine.gpus])
        ]
        self._machine.state = reserve_tasks(self._machine.state, tasks)

    @property
    def _number(self) -> int:
        """Number by which the counters count the collective."""
        if self._activity is None:
            return self._machine.communication
        return self._context.number(self._activity)

    def run(self) -> int:
        """Run all steps; return the number of cycles."""
        return sum(
            self._run_half(half, launches=number == 0) for number, half in enumerate(self._halves)
        )

    def _run_half(self, half: Half, *, launches: bool) -> int:
        """Run the steps that reduce, or those that do not."""
        machine, simulation, context = self._machine, self._simulation, self._context
        steps, number = half.steps, self._number
        title = "" if self._activity else _TITLES[half.reduces]
        name = self._activity.name if self._activity else ""
        self._map(half)
        begin = machine.now
        if launches:
            simulation.launch_kernel(self._place)
        protocol = context.protocol
        together = len(self._halves) > 1
        simulation.idle(protocol.fixed_cost_ns(reduces=half.reduces, together=together))
        # A concurrent GEMM has another output.
        flushes = context.system.l2.flush_at_kernel_end
        machine.state.fixed["uses_l2"] = self._alone and not flushes
        for step in steps:
            last = machine.now
            if step.sends:
                simulation.idle(protocol.step_ns)
            self._begin(step, half.layout)
            simulation.run((number,), UNTIL_COLLECTIVE, title=title)
        if self._alone:
            simulation.run((number,), UNTIL_QUIET, title=title)
        machine.state.fixed["uses_l2"] = 0
        track = "Communication"
        simulation.span(half.name, track, begin, machine.now, activity=name)
        if not steps[-1].sends:
            simulation.span(LAST_ADDITION, "Last addition", last, machine.now)
        return machine.now - begin

    def _map(self, half: Half) -> None:
        """Map the addresses to which the steps store, so that stores to other GPUs leave."""
        machine = self._machine
        self._simulation.launch_stores(half.layout.writes)
        machine.begin_collective(self._number)
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
            return atoms_of(state, chunk.owner, layout.within(chunk), layout.share(chunk))

        for g, moved in enumerate(self.moved):
            work = [one for one in step.work[g] if layout.has(one.chunk)]
            begin_step(state, g, layout.tasks(g, work))
            arriving = sum(map(size, step.arriving[g]))
            state.gpu["expected"][g] += arriving
            moved.written += arriving
            for one in work:
                kept = 0 if one.merged else sum(peer == g for peer, _ in one.targets)
                leaving = len(one.targets) - kept
                moved.read += len(one.operands) * size(one.chunk)
                moved.written += kept * size(one.chunk)
                moved.sent += (min(leaving, 1) if one.multicast else leaving) * size(one.chunk)
