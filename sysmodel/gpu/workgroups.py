"""State of the compute units for a kernel's workgroups, and its initial values."""

from dataclasses import dataclass, field

import numpy as np

from sysmodel.config.limits import MOST_LINE_REQUESTS as REQUESTS
from sysmodel.config.limits import MOST_SLOTS
from sysmodel.config.workload import ELEMENT_BYTES

from .atoms import ATOM_BYTES, LINE_ATOMS
from .geometry.output_atoms import OutputAtoms
from .geometry.tiling import Tiling
from .slots import SLOT_STATES

__all__ = [
    "CHANNEL_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "MODE_GEMM",
    "MODE_SCATTER",
    "REQUESTS",
    "STORES",
    "ComputeUnits",
    "KernelTimes",
    "PlacedKernel",
    "set_up",
]

MODE_GEMM = 0
# Reduce-scatter alone, with the partial products already in memory: the first chunk is read and
# stored; for the other chunks, only end-of-tile markers are sent.
MODE_SCATTER = 1

# Capacity of a channel's queue of stores. A full queue makes the CUs wait.
STORES = 8192
MOST_PREFETCH = 4
MOST_COMPUTE_UNITS = 1024
_EVENTS = MOST_SLOTS * (MOST_PREFETCH + 2)

FIXED_FIELDS = [
    (name, np.int64)
    for name in (
        "mode", "slots", "slots_per_cu", "prefetch", "launch", "epilogue", "store_buffer",
        "by_stage", "pipe_turns",
    )
] + [("dispatch_interval", np.float64)]  # fmt: skip

# Fields of the row's kernel.
_KERNEL_FIELDS = [
    (name, np.int64)
    for name in (
        "steps", "tail_k", "workgroups", "waves", "depth_u", "lds", "fetch_cycles", "store_cycles",
        "most_line_requests",
        "first_row",  # row of the kernel's first workgroup in the tables
    )
] + [("step_cycles", np.float64)]  # fmt: skip

GPU_FIELDS = [
    *_KERNEL_FIELDS,
    ("first_workgroup", np.int64),
    ("tracked_first", np.int64),
    ("dispatch_index", np.int64, (MOST_SLOTS,)),
    ("step", np.int64, (MOST_SLOTS,)),
    ("waiting", np.int64, (MOST_SLOTS,)),  # 1: the workgroup waits for the step's tiles
    ("remaining", np.int64, (MOST_SLOTS,)),  # stores and end-of-tile markers still to leave
    ("emitted", np.int64, (MOST_SLOTS,)),
    ("emit_from", np.int64, (MOST_SLOTS,)),
    ("emission_held", np.int64, (MOST_SLOTS,)),  # cycles in which the link kept a queue full
    ("pending", np.int64, (MOST_SLOTS * MOST_PREFETCH,)),  # line requests of a prefetch buffer
    ("ready_at", np.int64, (MOST_SLOTS * MOST_PREFETCH,)),
    ("arrived", np.int64, (MOST_SLOTS * MOST_PREFETCH,)),
    ("from_memory", np.int64, (MOST_SLOTS * MOST_PREFETCH,)),  # 1: the last data came from memory
    ("slot_state", np.int64, (MOST_SLOTS,)),  # see slots.py
    ("slot_since", np.int64, (MOST_SLOTS,)),
    ("slot_cycles", np.int64, (SLOT_STATES,)),
    ("heap", np.int64, (_EVENTS,)),
    ("heap_size", np.int64),
    ("pipe_free", np.float64, (MOST_COMPUTE_UNITS,)),
    ("wants_pipe", np.int64, (MOST_SLOTS,)),  # 1: its turn on the matrix pipe has not ended
    ("awaits_turn", np.int64, (MOST_SLOTS,)),  # 1: a step is ready, but the pipe is another's
    ("free_ring", np.int64, (MOST_SLOTS,)),
    ("free_head", np.int64),
    ("free_count", np.int64),
    ("next_dispatch_index", np.int64),
    ("next_dispatch", np.float64),
    ("finished", np.int64),
    ("throttled", np.int64),  # slot-cycles in which flow control kept free slots empty
]

# Ring buffers of a channel: stores, and requests of lines. A store has a slot, a workgroup and an
# atom's index in the table; a negative index stands for an end-of-tile marker.
CHANNEL_FIELDS = [
    ("store_slot", np.int32, (STORES,)),
    ("store_workgroup", np.int32, (STORES,)),
    ("store_entry", np.int32, (STORES,)),
    ("store_held", np.int32, (STORES,)),  # link_held at the time of queuing
    ("store_head", np.int64),
    ("store_count", np.int64),
    ("link_held", np.int64),  # cycles in which the link kept the oldest store waiting
    ("link_held_at", np.int64),  # the last one of these cycles
    ("request_line", np.int64, (REQUESTS,)),
    ("request_mask", np.int32, (REQUESTS,)),
    ("request_token", np.int32, (REQUESTS,)),
    ("request_head", np.int64),
    ("request_count", np.int64),
]


@dataclass(frozen=True, kw_only=True)
class ComputeUnits:
    """Compute units of a GPU and their dispatcher.

    Parameters
    ----------
    cus : int
        Compute units of the GPU.
    workgroups_per_cu : int
        Workgroup slots of a CU.
    prefetch : int
        Depth-U steps whose tiles a workgroup requests ahead.
    store_buffer : int
        Atoms of the buffer between the CUs and a channel.
    dispatch_interval_cycles : float
        Shortest time between two dispatches.
    by_stage : bool
        Dispatch a stage's workgroups only after the previous stage.
    pipe_turns : int
        Turn of a workgroup on the matrix pipe: ``STEPS``, ``MAIN_LOOPS`` or ``TILES``.

    Raises
    ------
    ValueError
        If the units exceed the limits of the model.
    """

    cus: int
    workgroups_per_cu: int
    prefetch: int
    store_buffer: int
    dispatch_interval_cycles: float
    by_stage: bool
    pipe_turns: int

    def __post_init__(self) -> None:
        if self.slots > MOST_SLOTS or self.cus > MOST_COMPUTE_UNITS:
            raise ValueError(
                f"gpu: {self.cus} CUs of {self.workgroups_per_cu} workgroups are more than the "
                f"{MOST_COMPUTE_UNITS} CUs and {MOST_SLOTS} workgroups that the model supports"
            )
        if self.prefetch > MOST_PREFETCH:
            raise ValueError(
                f"kernel.prefetch_depth must be at most {MOST_PREFETCH}, not {self.prefetch}"
            )

    @property
    def slots(self) -> int:
        """Workgroup slots of the GPU."""
        return self.cus * self.workgroups_per_cu


@dataclass(frozen=True, kw_only=True)
class KernelTimes:
    """Times of a workgroup's phases, in cycles.

    ``step`` is the time of a full depth-U step on the matrix pipe, ``fetch`` the shortest time in
    which a CU receives the tiles of such a step, and ``store`` the shortest time in which it sends
    its output.
    """

    step: float
    launch: int
    lds: int
    epilogue: int
    fetch: int
    store: int


@dataclass(frozen=True, kw_only=True)
class PlacedKernel:
    """Kernel with its place in a machine's state.

    ``mode`` is ``MODE_GEMM`` or ``MODE_SCATTER``, ``rows`` are the rows of the state's GPUs that
    run the kernel, and ``first_row`` is the kernel's first row in the tables.
    """

    tiling: Tiling
    output_atoms: OutputAtoms
    mode: int
    rows: slice = field(default_factory=lambda: slice(None))
    first_row: int = 0


def set_up(state, placed: PlacedKernel, units: ComputeUnits, times: KernelTimes) -> None:
    """Set up a kernel before its dispatch on all GPUs of ``state``, or on some rows of them.

    Raises
    ------
    ValueError
        If a step of the kernel exceeds the limits of the model.
    """
    tiling, mode = placed.tiling, placed.mode
    fixed = {
        "mode": mode,
        "slots": units.slots,
        "slots_per_cu": units.workgroups_per_cu,
        "prefetch": units.prefetch,
        "launch": times.launch,
        "epilogue": times.epilogue,
        "store_buffer": units.store_buffer,
        "by_stage": units.by_stage,
        "pipe_turns": units.pipe_turns,
        "dispatch_interval": units.dispatch_interval_cycles,
    }
    for name, value in fixed.items():
        state.fixed[name] = value
    of_kernel = {
        "steps": tiling.steps if mode == MODE_GEMM else 0,
        "tail_k": tiling.k - (tiling.steps - 1) * tiling.depth_u,
        "workgroups": tiling.workgroups,
        "waves": tiling.waves,
        "depth_u": tiling.depth_u,
        "lds": times.lds,
        "fetch_cycles": times.fetch,
        "store_cycles": times.store,
        "most_line_requests": _line_requests(placed, units.prefetch),
        "first_row": placed.first_row,
        "step_cycles": times.step,
    }
    for name, value in of_kernel.items():
        state.gpu[name][placed.rows] = value
    # The dispatcher fills the CUs evenly: every CU gets one workgroup before any gets a second.
    in_turn = np.arange(units.slots).reshape(units.cus, units.workgroups_per_cu).T
    state.gpu["free_ring"][:, : units.slots] = in_turn.ravel()
    state.gpu["free_count"] = units.slots


def _line_requests(placed: PlacedKernel, prefetch: int) -> int:
    """Bound the line requests that a workgroup makes at once."""
    tiling = placed.tiling
    depth_atoms = -(-tiling.depth_u * ELEMENT_BYTES // ATOM_BYTES)
    tile_line_requests = (tiling.tile_m + tiling.tile_n) * (depth_atoms // LINE_ATOMS + 2)
    tile_atoms = int(np.diff(placed.output_atoms.start).max(initial=1))
    most_line_requests = prefetch * max(tile_line_requests, tile_atoms)
    if most_line_requests > REQUESTS:
        raise ValueError(
            f"kernel: a step of {most_line_requests} lines exceeds the {REQUESTS} that a queue "
            "holds"
        )
    return most_line_requests
