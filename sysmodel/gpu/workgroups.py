"""What the compute units keep of a kernel's workgroups, and how they begin."""

import numpy as np

from .kernel import ATOM_BYTES, ELEMENT_BYTES, LINE_ATOMS, Kernel, OutputAtoms
from .slots import SLOT_STATES

__all__ = [
    "CHANNEL_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "MODE_GEMM",
    "MODE_SCATTER",
    "REQUESTS",
    "STORES",
    "set_up",
]

MODE_GEMM = 0
# Reduce-scatter alone with the partial products already in memory: the first chunk is read and
# stored, of the others only the tile ends are announced.
MODE_SCATTER = 1

# Most workgroup slots of a GPU, and entries of a channel's queues. The sizes are constants so that
# one compilation serves all systems; a full queue makes the CUs wait.
MOST_SLOTS = 2048
MOST_PREFETCH = 4
MOST_COMPUTE_UNITS = 1024
STORES = 8192
REQUESTS = 32768
_EVENTS = MOST_SLOTS * (MOST_PREFETCH + 2)

FIXED_FIELDS = [
    (name, np.int64)
    for name in (
        "mode", "slots", "slots_per_cu", "prefetch", "launch", "epilogue", "store_buffer",
        "by_stage",
    )
] + [("dispatch_interval", np.float64)]  # fmt: skip

# Of the row's kernel.
_KERNEL_FIELDS = [
    (name, np.int64)
    for name in (
        "steps", "tail_k", "workgroups", "waves", "depth_u", "lds", "fetch_cycles", "store_cycles",
        "most_line_requests",
        "first_row",  # of the kernel's workgroups in the tables
    )
] + [("step_cycles", np.float64)]  # fmt: skip

GPU_FIELDS = [
    *_KERNEL_FIELDS,
    ("first_workgroup", np.int64),
    ("tracked_first", np.int64),
    ("dispatch_index", np.int64, (MOST_SLOTS,)),
    ("step", np.int64, (MOST_SLOTS,)),
    ("waiting", np.int64, (MOST_SLOTS,)),  # for the step's tiles
    ("remaining", np.int64, (MOST_SLOTS,)),  # stores and tile ends that have not left
    ("emitted", np.int64, (MOST_SLOTS,)),
    ("emit_from", np.int64, (MOST_SLOTS,)),
    ("pending", np.int64, (MOST_SLOTS * MOST_PREFETCH,)),  # line requests of a prefetch buffer
    ("ready_at", np.int64, (MOST_SLOTS * MOST_PREFETCH,)),
    ("arrived", np.int64, (MOST_SLOTS * MOST_PREFETCH,)),
    ("from_memory", np.int64, (MOST_SLOTS * MOST_PREFETCH,)),  # 1: what came last
    ("slot_state", np.int64, (MOST_SLOTS,)),  # see slots.py
    ("slot_since", np.int64, (MOST_SLOTS,)),
    ("slot_cycles", np.int64, (SLOT_STATES,)),
    ("heap", np.int64, (_EVENTS,)),
    ("heap_size", np.int64),
    ("pipe_free", np.float64, (MOST_COMPUTE_UNITS,)),
    ("free_ring", np.int64, (MOST_SLOTS,)),
    ("free_head", np.int64),
    ("free_count", np.int64),
    ("next_dispatch_index", np.int64),
    ("next_dispatch", np.float64),
    ("finished", np.int64),
    ("throttled", np.int64),  # slot-cycles in which flow control kept free slots empty
]

# Rings. A store is a slot, a workgroup and an atom's index in the table or, negative, a tile end.
CHANNEL_FIELDS = [
    ("store_slot", np.int32, (STORES,)),
    ("store_workgroup", np.int32, (STORES,)),
    ("store_what", np.int32, (STORES,)),
    ("store_head", np.int64),
    ("store_count", np.int64),
    ("request_line", np.int64, (REQUESTS,)),
    ("request_mask", np.int32, (REQUESTS,)),
    ("request_token", np.int32, (REQUESTS,)),
    ("request_head", np.int64),
    ("request_count", np.int64),
]


def set_up(
    state,
    kernel: Kernel,
    output_atoms: OutputAtoms,
    *,
    mode: int,
    compute_units: int,
    workgroups_per_cu: int,
    prefetch: int,
    step_cycles: float,
    launch_cycles: int,
    lds_cycles: int,
    epilogue_cycles: int,
    fetch_cycles: int,
    store_cycles: int,
    dispatch_interval_cycles: float,
    store_buffer: int,
    by_stage: bool,
    rows: slice = slice(None),
    first_row: int = 0,
) -> None:
    """Put a kernel that is yet to be dispatched on all GPUs of ``state``, or on some rows of them.

    ``step_cycles`` is a full depth-U step on the matrix pipe; ``fetch_cycles`` the least time in
    which a CU takes in such a step's tiles, ``store_cycles`` that in which it puts out its output;
    ``first_row`` is the kernel's first in the tables.

    Raises
    ------
    ValueError
        If the GPU is larger than the model has room for.
    """
    slots = compute_units * workgroups_per_cu
    if slots > MOST_SLOTS or compute_units > MOST_COMPUTE_UNITS:
        raise ValueError(
            f"gpu: {compute_units} CUs of {workgroups_per_cu} workgroups are more than the "
            f"{MOST_COMPUTE_UNITS} CUs and {MOST_SLOTS} workgroups that the model has room for"
        )
    if prefetch > MOST_PREFETCH:
        raise ValueError(f"kernel.prefetch_depth must be at most {MOST_PREFETCH}, not {prefetch}")
    depth_atoms = -(-kernel.depth_u * ELEMENT_BYTES // ATOM_BYTES)
    tile_line_requests = (kernel.tile_m + kernel.tile_n) * (depth_atoms // LINE_ATOMS + 2)
    tile_atoms = int(np.diff(output_atoms.start).max(initial=1))
    most_line_requests = prefetch * max(tile_line_requests, tile_atoms)
    if most_line_requests > REQUESTS:
        raise ValueError(
            f"kernel: a step of {most_line_requests} lines exceeds the {REQUESTS} of a queue"
        )
    fixed = {
        "mode": mode,
        "slots": slots,
        "slots_per_cu": workgroups_per_cu,
        "prefetch": prefetch,
        "launch": launch_cycles,
        "epilogue": epilogue_cycles,
        "store_buffer": store_buffer,
        "by_stage": by_stage,
        "dispatch_interval": dispatch_interval_cycles,
    }
    for name, value in fixed.items():
        state.fixed[name] = value
    of_kernel = {
        "steps": kernel.steps if mode == MODE_GEMM else 0,
        "tail_k": kernel.k - (kernel.steps - 1) * kernel.depth_u,
        "workgroups": kernel.workgroups,
        "waves": kernel.waves,
        "depth_u": kernel.depth_u,
        "lds": lds_cycles,
        "fetch_cycles": fetch_cycles,
        "store_cycles": store_cycles,
        "most_line_requests": most_line_requests,
        "first_row": first_row,
        "step_cycles": step_cycles,
    }
    for name, value in of_kernel.items():
        state.gpu[name][rows] = value
    # The dispatcher fills the CUs evenly before it gives any a second workgroup.
    in_turn = np.arange(slots).reshape(compute_units, workgroups_per_cu).T
    state.gpu["free_ring"][:, :slots] = in_turn.ravel()
    state.gpu["free_count"] = slots
