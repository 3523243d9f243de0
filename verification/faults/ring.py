"""Ring of three GPUs with real values, for runs with one fault each."""

from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from driver.python import Context, Recorder
from rtl.parameters import T3Parameters
from rtl.registers.map import load
from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.collectives.schedule import Chunk
from sysmodel.config.system import System, load_system
from sysmodel.engine.hardware import hardware_parameters
from sysmodel.engine.ports import CHANNEL_OUTPUTS, CONTEXT_OUTPUTS, DATA_WORDS, K
from sysmodel.gpu.address_spaces import gemm_space
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import SimulationError
from sysmodel.machine.loop import advance
from sysmodel.machine.machine import Machine
from sysmodel.machine.program import Writes, map_writes
from sysmodel.machine.queue import Queued
from sysmodel.machine.tiling import apart
from sysmodel.machine.until import UNTIL_PROGRAMMED, UNTIL_REDUCED
from sysmodel.runs.data_reference import reference

from .hook import FAULT, FaultyInstance, Hooked

__all__ = [
    "CHANNELS",
    "GPUS",
    "NEVER_STARTS",
    "Ring",
    "RingRun",
    "Setup",
    "ring_parameters",
]

GPUS = 3
CHANNELS = 2
_RING = tracked_schedule("ring", GPUS)
_RANGE_ACTION = load()["RANGE_ACTION"]
_SLICE_CYCLES = 128
_DRAIN_CYCLES = 64
NEVER_STARTS = 1 << 62
"""Skew of a kernel that is never launched."""


@cache
def _system() -> System:
    """Make the smallest GPU that the mechanism allows: a run takes some 2000 cycles."""
    full = load_system()
    changes = {
        "gpu": {"compute_units": 2, "workgroup_launch_ns": 20.0},
        "kernel": {
            **{"tile_m": 64, "tile_n": 16, "depth_u": 8, "waves_m": 4, "waves_n": 1},
            **{"alternatives": (), "prologue_cycles": 10, "epilogue_cycles": 10},
        },
        "dram": {"channels": CHANNELS, "read_latency_ns": 10.0},
        "l2": {"slices": 2 * CHANNELS, "capacity_mib": 0.5, "latency_ns": 10.0},
        "link": {"bandwidth_gb_per_s": 64.0, "latency_ns": 20.0},
        "t3": {
            **{"tracker_sets": 8, "tracker_ways": 8, "tracker_banks": 1, "egress_slots": 16},
            **{"credit_window_workgroups": 16, "command_depth": 64, "group_workgroups": 2},
        },
    }
    return full.model_copy(
        update={
            section: getattr(full, section).model_copy(update=fields)
            for section, fields in changes.items()
        }
    )


def ring_parameters(contexts: int = 1) -> T3Parameters:
    """Parameters of each GPU's hardware."""
    return hardware_parameters(_system(), channels=CHANNELS, contexts=contexts, with_data=True)


def _with_shares(word: int, shares: int) -> int:
    """Return the action of a range with other shares, if its tiles are tracked."""
    fields = _RANGE_ACTION.unpack(word)
    return _RANGE_ACTION.pack(**fields | {"shares": shares}) if fields["shares"] else word


@dataclass(frozen=True)
class Setup:
    """Setup of a ring: size of its computation, and settings of its software.

    Attributes
    ----------
    waves_n : int
        Wavefronts of a workgroup along N; four along M.
    tile_columns : int
        Workgroups along N; two along M.
    shares : tuple of int
        Shares of the tiles that are reduced at each GPU.
    ways : int or None
        Ways of the tracker's sets that privileged software leaves to the context when its launch
        has begun; None for all.
    skew : tuple of int
        Start of each GPU, in cycles of delay.
    timeout_cycles : int
        Timeout, longer than any wait without a fault.
    contexts : int
        Number of active contexts. The second context has half the rows and one and a half times the
        columns.
    """

    waves_n: int = 1
    tile_columns: int = 6
    shares: tuple[int, ...] = (2,) * GPUS
    ways: int | None = None
    skew: tuple[int, ...] = (0,) * GPUS
    timeout_cycles: int = 2048
    contexts: int = 1


@dataclass(frozen=True)
class RingRun:
    """Result of a run for one context.

    Attributes
    ----------
    finished : bool
        All GPUs (except a dead one) signal that they are done.
    right : bool
        Every bit of their shares of the sum is right.
    reports : dict
        Code, dispatch index, wavefront and cycle of the error, by number of the GPU.
    corrected : int
        Number of bit errors that the hardware reports as corrected.
    cycles : int
        Length of the run.
    aborting : bool
        The abort of the context has not ended.
    """

    finished: bool
    right: bool
    reports: dict[int, tuple[int, int, int, int]]
    corrected: int
    cycles: int
    aborting: bool = False


def _register(name: str, context: int = 0, **values: int) -> tuple[int, int]:
    register = load()[name]
    fields = {field.name: field for field in register.fields}
    word = sum(value << fields[key].low for key, value in values.items())
    return register.address_in(context), word


def _arrays(state):
    for value in state:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays(value)


class _FaultyMachine(Machine):
    def __init__(self, hooked: Hooked, *arguments, **options):
        self._hooked = hooked
        self.instances: list[FaultyInstance] = []
        super().__init__(*arguments, **options)
        self._beginning = [array.copy() for array in _arrays(self.state)]

    def _engine(self, *_):
        self.instances.append(FaultyInstance(self._hooked))
        return self.instances[-1]

    def restart(self) -> None:
        """Reset the machine to cycle 0."""
        for array, beginning in zip(_arrays(self.state), self._beginning, strict=True):
            array[...] = beginning
        self._aborted.clear()
        self.next_generation = 0
        for g, instance in enumerate(self.instances):
            instance.reset(self.state.outputs[g])


class Ring:
    """Ring of GPUs with a known sum; a context manager.

    Parameters
    ----------
    hooked : :class:`Hooked`
        Compiled hardware with the parameters of :func:`ring_parameters`.
    setup : :class:`Setup`
        Setup; only the size of the computation is used here.

    Attributes
    ----------
    kernel : Kernel
        Kernel of context 0; ``kernels`` has the kernels of all contexts.
    machine : Machine
        Simulated machine with one of ``instances`` for each GPU.
    waves : int
        Wavefronts of a workgroup.
    """

    def __init__(self, hooked: Hooked, setup: Setup):
        self.setup, self.hooked = setup, hooked
        self._system = _system()
        columns = setup.tile_columns
        shapes = ((2, columns), (1, columns + columns // 2))[: setup.contexts]
        self.kernels = apart([self._kernel(*shape) for shape in shapes])
        self.kernel = self.kernels[0]
        self.waves = self.kernel.tiling.waves
        base = self.kernel.output_atom
        random = np.random.default_rng(1)
        partial = np.zeros((GPUS, self.kernels[-1].output_end - base, DATA_WORDS), np.uint64)
        self._expected, self._shares = [], []
        for kernel in self.kernels:
            shape = GPUS, kernel.tiling.m, kernel.tiling.n
            products = random.standard_normal(shape).astype(np.float16)
            kept = reference(products, 0x7E00, _RING.schedule)
            sums = np.stack([one[Chunk(g)] for g, one in enumerate(kept)])
            self._expected.append(self._atoms(sums))
            first = kernel.output_atom - base
            partial[:, first : kernel.output_end - base] = self._atoms(products)
            chunk = kernel.chunks.of_workgroup
            self._shares.append([self._share(kernel, chunk == g) for g in range(GPUS)])
        self.machine = _FaultyMachine(
            hooked,
            self._system,
            self.kernel,
            behind=[Queued(one, n) for n, one in enumerate(self.kernels[1:], 1)],
            engine="rtl",
            channels=CHANNELS,
            mirror=False,
            partial=partial,
        )

    def _kernel(self, tile_rows: int, tile_columns: int) -> Kernel:
        tile = self._system.kernel
        tile_n = tile.tile_n * self.setup.waves_n
        tiling = Tiling(
            m=tile_rows * tile.tile_m,
            n=tile_columns * tile_n,
            k=tile.depth_u,
            tile_m=tile.tile_m,
            tile_n=tile_n,
            depth_u=tile.depth_u,
            waves_m=tile.waves_m,
            waves_n=self.setup.waves_n,
            prefetch_depth=tile.prefetch_depth,
        )
        return Kernel(
            OutputLayout(tiling, column_major=True),
            Chunks(tiling=tiling, owners=GPUS, workgroup_mapping=tile.workgroup_mapping),
        )

    def __enter__(self) -> "Ring":
        return self

    def __exit__(self, *exception) -> None:
        self.machine.__exit__(*exception)

    def _atoms(self, matrices: np.ndarray) -> np.ndarray:
        """Lay out matrices like the column-major output buffers: (gpus, atoms, 4) words."""
        # No padding: M is a multiple of an atom's elements.
        columns = np.ascontiguousarray(matrices.transpose(0, 2, 1))
        return columns.view(np.uint64).reshape(GPUS, -1, 4)

    def _share(self, kernel: Kernel, workgroups: np.ndarray) -> np.ndarray:
        """List the atoms of workgroup tiles, numbered from the start of the kernel's buffer."""
        row, column = kernel.chunks.tiles
        layout = kernel.layout
        tiles = np.zeros((kernel.tiling.grid_n, kernel.tiling.grid_m), bool)
        tiles[column[workgroups], row[workgroups]] = True
        atoms = np.repeat(
            np.repeat(tiles, layout.outer_extent, axis=0), layout.inner_extent, axis=1
        )
        return np.flatnonzero(atoms.ravel())

    @cached_property
    def fault_free(self) -> RingRun:
        """Result of the run without a fault, for context 0.

        Raises
        ------
        SimulationError
            If a sum is wrong.
        """
        runs = self.run_all(np.zeros((), FAULT), self.setup, bound=1 << 16)
        for run in runs:
            if not run.right or run.reports:
                raise SimulationError(f"the ring fails without a fault: {run}")
        return runs[0]

    @cached_property
    def launch_cycle(self) -> int:
        """Cycle in which the kernels start."""
        self.machine.restart()
        self.machine.instances[0].arm(np.zeros((), FAULT))
        return self.machine.launch(self._maps(self.setup))

    def tracked_first(self, gpu: int, context: int = 0) -> int:
        """First dispatch index whose tiles are tracked."""
        return self.kernels[context].chunks.sizes[(gpu + 1) % GPUS]

    def _maps(self, setup: Setup) -> list[Writes]:
        contexts = range(setup.contexts)
        return [
            [write for context in contexts for write in self._map(setup, g, context)]
            for g in range(GPUS)
        ]

    def _map(self, setup: Setup, gpu: int, context: int) -> Writes:
        one = map_writes(
            self.kernels[context],
            self._system,
            gpu,
            _RING,
            address_space=gemm_space(context),
            dtype="fp16",
            context=context,
            contexts=setup.contexts,
        )
        recorder = Recorder()
        Context(recorder, context).timeout(setup.timeout_cycles)
        ranges = _RANGE_ACTION.address_in(context)
        return [
            (address, _with_shares(word, setup.shares[gpu]) if address == ranges else word)
            for address, word in (*one, *recorder.writes)
        ]

    def run(
        self,
        fault: np.ndarray,
        setup: Setup,
        *,
        bound: int,
        dead: int | None = None,
        stop: tuple[int, int, int] | None = None,
    ) -> RingRun:
        """Run the only context; see :meth:`run_all`."""
        (run,) = self.run_all(fault, setup, bound=bound, dead=dead, stop=stop)
        return run

    def run_all(
        self,
        fault: np.ndarray,
        setup: Setup,
        *,
        bound: int,
        dead: int | None = None,
        stop: tuple[int, int, int] | None = None,
        abort: tuple[int, int] | None = None,
    ) -> list[RingRun]:
        """Run until each context has its sum or a pending error, or for ``bound`` cycles.

        Parameters
        ----------
        fault : record of :data:`FAULT`
            Fault; its cycles are counted from 0.
        dead : int or None
            GPU whose hardware the fault stops; its result is not judged.
        stop : tuple of int or None
            GPU and context whose kernel dispatches no workgroup any more, and from which cycle on.
        abort : tuple of int or None
            Context that the driver aborts, and the cycle.
        """
        machine = self.machine
        machine.restart()
        machine.instances[0].arm(fault)
        state = machine.state
        living = [g for g in range(GPUS) if g != dead]
        with suppress(SimulationError):  # early errors are evaluated below
            machine.launch(self._maps(setup))
            if setup.ways is not None:
                machine.write([[_register("WAYS", mask=(1 << setup.ways) - 1)]] * GPUS)
                machine.run(UNTIL_PROGRAMMED)
            state.kernel["start"] = machine.now + np.array(setup.skew)[:, None]
        if stop is not None:
            machine.idle(stop[2] - machine.now)
            state.kernel["start"][stop[:2]] = NEVER_STARTS
        if abort is not None:
            machine.idle(abort[1] - machine.now)
            with suppress(SimulationError):
                machine.abort(abort[0])
        aborted = () if abort is None else abort[:1]
        self._await([c for c in range(setup.contexts) if c not in aborted], living, bound)
        lost_one = abort is not None or any(self._errors(c) for c in range(setup.contexts))
        if setup.contexts > 1 and lost_one:
            # Time for the abort to end, or for the other context to finish after an error.
            machine.idle(setup.timeout_cycles)
        machine.idle(_DRAIN_CYCLES)
        corrected = sum(machine.read(g, "CORRECTED")["count"] for g in living)
        return [self._run_of(context, living, corrected) for context in range(setup.contexts)]

    def _await(self, contexts: list[int], living: list[int], bound: int) -> None:
        machine = self.machine
        while machine.now < bound and not all(
            self._errors(context) or self._finished(context, living) for context in contexts
        ):
            advance(machine.state, machine.hardware, UNTIL_REDUCED, _SLICE_CYCLES)

    def _run_of(self, context: int, living: list[int], corrected: int) -> RingRun:
        machine, reports = self.machine, {}
        for g, cycle in self._errors(context).items():
            error = machine.read(g, "ERROR", context)
            reports[g] = (error["code"], error["dispatch_index"], error["wavefront"], cycle)
        finished = self._finished(context, living)
        return RingRun(
            finished=finished,
            right=finished and all(self._right(g, context) for g in living),
            reports=reports,
            corrected=corrected,
            cycles=machine.now,
            aborting=any(machine.read(g, "STATUS", context)["aborting"] for g in living),
        )

    def _errors(self, context: int) -> dict[int, int]:
        found = {g: one.error_cycle(context) for g, one in enumerate(self.machine.instances)}
        return {g: cycle for g, cycle in found.items() if cycle is not None}

    def _finished(self, context: int, living: list[int]) -> bool:
        """Return True if the hardware of every living GPU signals the context as done and idle."""
        first = CHANNELS * CHANNEL_OUTPUTS + context * CONTEXT_OUTPUTS
        outputs = self.machine.state.outputs[:, first:]
        return all(outputs[g, K.done] and outputs[g, K.idle] for g in living)

    def _right(self, g: int, context: int) -> bool:
        share = self._shares[context][g]
        first = self.kernels[context].output_atom - self.kernel.output_atom
        found = self.machine.state.stored[g, first + share]
        return np.array_equal(found, self._expected[context][g, share])
