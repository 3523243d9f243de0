"""State of the compute units and of the kernels whose workgroups run on them; initial values.

The kernels of a GPU form a queue, in the order of their launch. A slot has the number of its kernel
in the queue.
"""

from dataclasses import dataclass

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
    "KERNEL_FIELDS",
    "MODE_GEMM",
    "MODE_SCATTER",
    "REQUESTS",
    "STORES",
    "ComputeUnits",
    "KernelTimes",
    "PlacedKernel",
    "set_up_kernel",
    "set_up_units",
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
        "kernels",  # kernels in the queue
        "slots", "slots_per_cu",
        "buffers",  # places of a slot's prefetch buffers in the tables
        "store_buffer", "by_stage", "pipe_turns",
    )
] + [("dispatch_interval", np.float64)]  # fmt: skip

KERNEL_FIELDS = [
    (name, np.int64)
    for name in (
        "mode", "steps", "tail_k", "workgroups", "waves", "depth_u", "prefetch",
        "launch", "lds", "epilogue", "fetch_cycles", "store_cycles", "most_line_requests",
        "first_row",  # row of the kernel's first workgroup in the tables
        "first_stage",  # place of the kernel's first stage in the tables
        "context",
        "space",  # address space of the stores
        "first_workgroup",
        "tracked_first",
        "slot_offset",  # from a tile's dispatch index to its slot at the downstream GPU
        "index_base",  # first dispatch index
        "start",  # cycle from which on workgroups may be dispatched
        "flow",  # 1: the hardware of the context admits the workgroups
        "limit",  # only smaller dispatch indices may be dispatched
        "end",  # number of workgroups to dispatch: all, or fewer after an abort
        "next_dispatch_index",
        "finished",  # ended workgroups
        "finish_cycle",  # end of the last workgroup, or -1
    )
] + [("step_cycles", np.float64)]  # fmt: skip

GPU_FIELDS = [
    ("slot_kernel", np.int64, (MOST_SLOTS,)),
    ("dispatch_index", np.int64, (MOST_SLOTS,)),
    ("turn", np.int64, (MOST_SLOTS,)),  # number of the workgroup's dispatch among those of the GPU
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
    ("dispatched", np.int64),  # workgroups of all kernels
    ("next_dispatch", np.float64),
    ("throttled", np.int64),  # slot-cycles in which flow control kept free slots empty
    ("flusher", np.int64),  # kernel at whose end the L2 flushes, or -1
]

# Ring buffers of a channel: stores, and requests of lines. A store has a slot, a workgroup's row in
# the tables and an atom's index in the table; a negative index stands for an end-of-tile marker.
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

    @property
    def slots(self) -> int:
        """Workgroup slots of the GPU."""
        return self.cus * self.workgroups_per_cu

    def stages(self, workgroups: int) -> int:
        """Stages of a kernel, each with a workgroup for every slot."""
        return -(-workgroups // self.slots)


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

    Parameters
    ----------
    prefetch : int
        Depth-U steps whose tiles a workgroup requests ahead.
    mode : int
        ``MODE_GEMM`` or ``MODE_SCATTER``.
    number : int
        Number in the queue.
    first_row, first_stage : int
        First row of the kernel's workgroups, and first place of its stages, in the tables.
    context : int
        Context whose flow control admits the kernel's workgroups.
    space : int
        Address space of its stores.

    Raises
    ------
    ValueError
        If the kernel requests more steps ahead than the model supports.
    """

    tiling: Tiling
    output_atoms: OutputAtoms
    prefetch: int
    mode: int
    number: int = 0
    first_row: int = 0
    first_stage: int = 0
    context: int = 0
    space: int = 0

    def __post_init__(self) -> None:
        if self.prefetch > MOST_PREFETCH:
            raise ValueError(
                f"kernel.prefetch_depth must be at most {MOST_PREFETCH}, not {self.prefetch}"
            )


def set_up_units(state, units: ComputeUnits) -> None:
    """Set up the compute units of all GPUs of ``state``, with every slot free."""
    fixed = {
        "slots": units.slots,
        "slots_per_cu": units.workgroups_per_cu,
        "store_buffer": units.store_buffer,
        "by_stage": units.by_stage,
        "pipe_turns": units.pipe_turns,
        "dispatch_interval": units.dispatch_interval_cycles,
    }
    for name, value in fixed.items():
        state.fixed[name] = value
    # The dispatcher fills the CUs evenly: every CU gets one workgroup before any gets a second.
    in_turn = np.arange(units.slots).reshape(units.cus, units.workgroups_per_cu).T
    state.gpu["free_ring"][:, : units.slots] = in_turn.ravel()
    state.gpu["free_count"] = units.slots


def set_up_kernel(state, placed: PlacedKernel, times: KernelTimes) -> None:
    """Set up a kernel before its dispatch on all GPUs of ``state``.

    Raises
    ------
    ValueError
        If a step of the kernel exceeds the limits of the model.
    """
    tiling, mode = placed.tiling, placed.mode
    state.fixed["buffers"] = max(int(state.fixed["buffers"][0]), placed.prefetch)
    of_kernel = {
        "mode": mode,
        "steps": tiling.steps if mode == MODE_GEMM else 0,
        "tail_k": tiling.k - (tiling.steps - 1) * tiling.depth_u,
        "workgroups": tiling.workgroups,
        "end": tiling.workgroups,
        "waves": tiling.waves,
        "depth_u": tiling.depth_u,
        "prefetch": placed.prefetch,
        "launch": times.launch,
        "lds": times.lds,
        "epilogue": times.epilogue,
        "fetch_cycles": times.fetch,
        "store_cycles": times.store,
        "most_line_requests": _line_requests(placed),
        "first_row": placed.first_row,
        "first_stage": placed.first_stage,
        "context": placed.context,
        "space": placed.space,
        "step_cycles": times.step,
    }
    for name, value in of_kernel.items():
        state.kernel[name][:, placed.number] = value
    rows = slice(placed.first_row, placed.first_row + tiling.workgroups)
    state.kernel_of[rows] = placed.number


def _line_requests(placed: PlacedKernel) -> int:
    """Bound the line requests that a workgroup makes at once."""
    tiling = placed.tiling
    depth_atoms = -(-tiling.depth_u * ELEMENT_BYTES // ATOM_BYTES)
    tile_line_requests = (tiling.tile_m + tiling.tile_n) * (depth_atoms // LINE_ATOMS + 2)
    tile_atoms = int(np.diff(placed.output_atoms.start).max(initial=1))
    most_line_requests = placed.prefetch * max(tile_line_requests, tile_atoms)
    if most_line_requests > REQUESTS:
        raise ValueError(
            f"kernel: a step of {most_line_requests} lines exceeds the {REQUESTS} that a queue "
            "holds"
        )
    return most_line_requests
