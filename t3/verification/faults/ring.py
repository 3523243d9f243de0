"""A ring of three GPUs with real values, run again and again with one fault each."""

from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from rtl.parameters import T3Parameters
from rtl.registers.map import load
from sysmodel.config.system import System, load_system
from sysmodel.engine.hardware import hardware_parameters
from sysmodel.engine.ports import CHANNEL_OUTPUTS, K
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import SimulationError
from sysmodel.machine.loop import advance
from sysmodel.machine.machine import Machine
from sysmodel.machine.offers import CONTEXT_GEMM
from sysmodel.machine.program import Writes, credit_windows, map_writes
from sysmodel.machine.until import UNTIL_REDUCED
from sysmodel.runs.data_launch import reference

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
_SLICE_CYCLES = 128
_DRAIN_CYCLES = 64
NEVER_STARTS = 1 << 62
"""A skew: the kernel is never launched."""


@cache
def _system() -> System:
    """A GPU as small as the ring's mechanism allows: a run takes some 2000 cycles."""
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


def ring_parameters() -> T3Parameters:
    """Of each GPU's hardware."""
    return hardware_parameters(_system(), channels=CHANNELS, with_data=True)


@dataclass(frozen=True)
class Setup:
    """What the ring computes, and what software got wrong.

    Attributes
    ----------
    waves_n : int
        Wavefronts of a workgroup along N; four along M.
    tile_columns : int
        Workgroups along N; two along M.
    updates_per_atom : tuple of int
        As each GPU is told.
    credit_window : int or None
        Workgroups that each GPU is told to admit, if not as many as its tracker holds.
    skew : tuple of int
        Cycles that each GPU starts later.
    timeout_cycles : int
        Of the `TIMEOUT` register; more than anything waits for without a fault.
    """

    waves_n: int = 1
    tile_columns: int = 6
    updates_per_atom: tuple[int, ...] = (2,) * GPUS
    credit_window: int | None = None
    skew: tuple[int, ...] = (0,) * GPUS
    timeout_cycles: int = 2048


@dataclass(frozen=True)
class RingRun:
    """How a run ended.

    Attributes
    ----------
    finished : bool
        All GPUs, or all that live, say that they are done.
    right : bool
        Their shares of the sum are right, every bit.
    reports : dict
        Of each GPU with an error: its code, dispatch index and wavefront, and the cycle.
    corrected : int
        Wrong bits that the hardware says it corrected.
    cycles : int
        Of the run.
    """

    finished: bool
    right: bool
    reports: dict[int, tuple[int, int, int, int]]
    corrected: int
    cycles: int


def _register(name: str, **values: int) -> tuple[int, int]:
    register = load()[name]
    fields = {field.name: field for field in register.fields}
    return register.address, sum(value << fields[key].low for key, value in values.items())


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
        """Go back to cycle 0."""
        for array, beginning in zip(_arrays(self.state), self._beginning, strict=True):
            array[...] = beginning
        for g, instance in enumerate(self.instances):
            instance.reset(self.state.outputs[g])


class Ring:
    """GPUs whose sum is known; a context manager.

    Parameters
    ----------
    hooked : :class:`Hooked`
        Of :func:`ring_parameters`.
    setup : :class:`Setup`
        Only what it computes counts here.

    Attributes
    ----------
    kernel : Kernel
    machine : Machine
        With an ``instances`` for each GPU.
    credit_window, most_credit_window : int
        Workgroups that a tracker holds for certain, and that the credit_window can be told to
        admit.
    """

    def __init__(self, hooked: Hooked, setup: Setup):
        self.setup, self.hooked = setup, hooked
        self._system = _system()
        tile = self._system.kernel
        tile_n = tile.tile_n * setup.waves_n
        self.kernel = kernel = Kernel(
            m=2 * tile.tile_m,
            n=setup.tile_columns * tile_n,
            k=tile.depth_u,
            gpus=GPUS,
            tile_m=tile.tile_m,
            tile_n=tile_n,
            depth_u=tile.depth_u,
            waves_m=tile.waves_m,
            waves_n=setup.waves_n,
            workgroup_mapping=tile.workgroup_mapping,
            column_major=True,
        )
        self.credit_window, _ = credit_windows(kernel, self._system)
        self.most_credit_window = self._system.t3.credit_window_workgroups
        products = np.random.default_rng(1).standard_normal((GPUS, kernel.m, kernel.n))
        products = products.astype(np.float16)
        self._expected = self._atoms(reference(products, nan=0x7E00))
        chunk = np.searchsorted(kernel.chunk_start, np.arange(kernel.workgroups), side="right") - 1
        self._shares = [self._share(chunk == g) for g in range(GPUS)]
        self.machine = _FaultyMachine(
            hooked,
            self._system,
            kernel,
            engine="rtl",
            channels=CHANNELS,
            mirror=False,
            partial=self._atoms(products),
        )

    def __enter__(self) -> "Ring":
        return self

    def __exit__(self, *exception) -> None:
        self.machine.__exit__(*exception)

    def _atoms(self, matrices: np.ndarray) -> np.ndarray:
        """Matrices as the column-major output buffers hold them: (gpus, atoms, 4) words."""
        # No padding: M is a multiple of an atom's elements.
        columns = np.ascontiguousarray(matrices.transpose(0, 2, 1))
        return columns.view(np.uint64).reshape(GPUS, -1, 4)

    def _share(self, workgroups: np.ndarray) -> np.ndarray:
        """Atoms of these workgroups' tiles, counted from the start of the buffer."""
        kernel = self.kernel
        row, column = kernel.tiles
        tiles = np.zeros((kernel.grid_n, kernel.grid_m), bool)
        tiles[column[workgroups], row[workgroups]] = True
        atoms = np.repeat(
            np.repeat(tiles, kernel.outer_extent, axis=0), kernel.inner_extent, axis=1
        )
        return np.flatnonzero(atoms.ravel())

    @cached_property
    def fault_free(self) -> RingRun:
        """The run without a fault.

        Raises
        ------
        SimulationError
            If its sum is wrong.
        """
        run = self.run(np.zeros((), FAULT), self.setup, bound=1 << 16)
        if not run.right or run.reports:
            raise SimulationError(f"the ring fails without a fault: {run}")
        return run

    @cached_property
    def launch_cycle(self) -> int:
        """Cycle in which the kernels start."""
        self.machine.restart()
        self.machine.instances[0].arm(np.zeros((), FAULT))
        return self.machine.launch(self._maps(self.setup))

    def tracked_first(self, gpu: int) -> int:
        """First dispatch index whose tiles are tracked."""
        return self.kernel.chunk_workgroups((gpu + 1) % GPUS)

    def dispatch_index_of(self, gpu: int, workgroup: int) -> int:
        """Where a workgroup comes in a GPU's order."""
        return (workgroup - self.kernel.first_workgroup(gpu)) % self.kernel.workgroups

    def _maps(self, setup: Setup) -> list[Writes]:
        maps = []
        for g in range(GPUS):
            one = map_writes(
                self.kernel,
                self._system,
                g,
                context=CONTEXT_GEMM,
                dtype="fp16",
                updates_per_atom=setup.updates_per_atom[g],
            )
            if setup.credit_window is not None:
                one.append(_register("CREDIT_WINDOW", workgroups=setup.credit_window))
            maps.append([*one, _register("TIMEOUT", cycles=setup.timeout_cycles)])
        return maps

    def run(
        self,
        fault: np.ndarray,
        setup: Setup,
        *,
        bound: int,
        dead: int | None = None,
        stop: tuple[int, int] | None = None,
    ) -> RingRun:
        """Run until the sum is there, an error is pending, or for ``bound`` cycles.

        Parameters
        ----------
        fault : record of :data:`FAULT`
            Of cycles counted from 0.
        setup : :class:`Setup`
        bound : int
        dead : int or None
            GPU whose hardware the fault stops; it is judged no more.
        stop : tuple of int or None
            GPU whose kernel stops, and in which cycle.
        """
        machine = self.machine
        machine.restart()
        machine.instances[0].arm(fault)
        state, hardware = machine.state, machine.hardware
        living = [g for g in range(GPUS) if g != dead]
        with suppress(SimulationError):  # an error that comes early is seen below
            machine.launch(self._maps(setup))
            state.gpu["start"] = machine.now + np.array(setup.skew)
        if stop is not None:
            machine.idle(stop[1] - machine.now)
            state.gpu["start"][stop[0]] = NEVER_STARTS
        finished = False
        while not finished and machine.now < bound and not self._errors:
            advance(state, hardware, UNTIL_REDUCED, _SLICE_CYCLES)
            finished = self._finished(living)
        if finished:
            machine.idle(_DRAIN_CYCLES)
        reports = {}
        for g, cycle in self._errors.items():
            error = machine.read(g, "ERROR")
            reports[g] = (error["code"], error["dispatch_index"], error["wavefront"], cycle)
        return RingRun(
            finished=finished,
            right=finished and all(self._right(g) for g in living),
            reports=reports,
            corrected=sum(machine.read(g, "CORRECTED")["count"] for g in living),
            cycles=machine.now,
        )

    @property
    def _errors(self) -> dict[int, int]:
        found = {g: one.error_cycle for g, one in enumerate(self.machine.instances)}
        return {g: cycle for g, cycle in found.items() if cycle is not None}

    def _finished(self, living: list[int]) -> bool:
        """Every living GPU's hardware says that it is done and idle."""
        outputs = self.machine.state.outputs[:, CHANNELS * CHANNEL_OUTPUTS :]
        return all(outputs[g, K.done] and outputs[g, K.idle] for g in living)

    def _right(self, g: int) -> bool:
        share = self._shares[g]
        found = self.machine.state.stored[g, share]
        return np.array_equal(found, self._expected[g, share])
