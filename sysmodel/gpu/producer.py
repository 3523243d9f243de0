"""The GEMM on the compute units: workgroups that fetch, wait, compute and store.

A workgroup is dispatched in dispatch order as a slot becomes free, fetches the A and B tiles of
each depth-U step through the L2 ``prefetch`` steps ahead, writes them into its LDS buffer, and
computes on its CU's matrix pipe, which serves one workgroup's step at a time. After the last step
it stores its output tile and gives the slot back when the last store has left the CU. Workgroups of
one CU overlap each other's waiting; nothing else hides it.

Time is in memory-clock cycles. ``s`` is the state of ``state.py``, ``g`` a row of its GPUs: with
several contexts each one's kernel has rows of its own.
"""

import numpy as np

from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import channel_of_atom, local_of_atom

from .events import heap_pop, heap_push, next_event
from .kernel import ATOM_BYTES, ELEMENT_BYTES, LINE_ATOM_BITS, LINE_ATOMS, Kernel, OutputAtoms

__all__ = [
    "CHANNEL_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "MODE_GEMM",
    "MODE_SCATTER",
    "REQUESTS",
    "STORES",
    "buffer_progress",
    "pop_store",
    "produce",
    "set_up",
    "workgroup_at",
]

MODE_GEMM = 0
# Reduce-scatter alone with the partial products already in memory: the first chunk is read and
# stored, of the others only the tile ends are announced.
MODE_SCATTER = 1

_LAUNCHED, _DATA, _READY, _DONE, _STORE, _EPILOGUE = range(6)

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


@inlined
def _request(channel, line, mask, buffer):
    i = (channel.request_head + channel.request_count) & (REQUESTS - 1)
    channel.request_line[i] = line
    channel.request_mask[i] = mask
    channel.request_token[i] = buffer
    channel.request_count += 1


@inlined
def _has_room(s, g):
    """Whether every channel's queue takes a step's requests."""
    f, gpu = s.fixed[0], s.gpu[g]
    for c in range(f.channels):
        if s.channel[g * f.channels + c].request_count > REQUESTS - gpu.most_line_requests:
            return False
    return True


@inlined
def workgroup_at(gpu, dispatch_index):
    """Workgroup at a dispatch index of the GPU's dispatch order, by its row in the tables."""
    w = dispatch_index + gpu.first_workgroup
    return gpu.first_row + (w - gpu.workgroups if w >= gpu.workgroups else w)


@inlined
def _fetch_tile(s, g, tile, step, buffer):
    """Request the lines of an operand's tile that lie in the simulated channels."""
    first, end = s.line_request_start[tile, step], s.line_request_start[tile, step + 1]
    for i in range(first, end):
        channel = s.channel[g * s.fixed[0].channels + s.line_request_channel[i]]
        _request(channel, s.line_request_line[i], s.line_request_mask[i], buffer)
    return end - first


@compiled
def _fetch(s, g, slot, step, now):
    """Ask for the A and B tiles of one step."""
    f, gpu = s.fixed[0], s.gpu[g]
    buffer = slot * f.prefetch + step % f.prefetch
    w = workgroup_at(gpu, gpu.dispatch_index[slot])
    count = _fetch_tile(s, g, s.tile_row[w], step, buffer)
    count += _fetch_tile(s, g, s.tile_column[w], step, buffer)
    _expect(f, gpu, buffer, count, now)


@compiled
def _fetch_output(s, g, slot, now):
    """Ask for the workgroup's own output tile."""
    f, gpu = s.fixed[0], s.gpu[g]
    w = workgroup_at(gpu, gpu.dispatch_index[slot])
    buffer = slot * f.prefetch
    count = 0
    i = s.output_start[w]
    while i < s.output_start[w + 1]:
        atom = s.output_atom[i]
        line = atom >> LINE_ATOM_BITS
        mask = 0
        while i < s.output_start[w + 1] and s.output_atom[i] >> LINE_ATOM_BITS == line:
            mask |= 1 << (s.output_atom[i] & (LINE_ATOMS - 1))
            i += 1
        local = local_of_atom(atom, f.offset_bits, f.channel_bits)
        c = channel_of_atom(atom, f.offset_bits, f.channel_bits)
        _request(s.channel[g * f.channels + c], local >> LINE_ATOM_BITS, mask, buffer)
        count += 1
    _expect(f, gpu, buffer, count, now)


@inlined
def _expect(f, gpu, buffer, count, now):
    gpu.pending[buffer] = count
    gpu.arrived[buffer] = 0
    gpu.ready_at[buffer] = now + gpu.fetch_cycles
    if count == 0:
        # Nothing of this step lies in the simulated channels.
        gpu.ready_at[buffer] = now + max(gpu.fetch_cycles, f.hit_latency)
        heap_push(gpu, gpu.ready_at[buffer], buffer * 8 + _DATA)


@compiled
def buffer_progress(gpu, buffer, change, at):
    """Outstanding line requests of a buffer change; the last one's arrival ``at`` completes it."""
    gpu.pending[buffer] += change
    if at > gpu.ready_at[buffer]:
        gpu.ready_at[buffer] = at
    if gpu.pending[buffer] == 0:
        heap_push(gpu, gpu.ready_at[buffer], buffer * 8 + _DATA)


@inlined
def _try_step(f, gpu, slot, now):
    """Move the awaited step's tiles into the LDS if they are there."""
    if gpu.arrived[slot * f.prefetch + gpu.step[slot] % f.prefetch]:
        gpu.waiting[slot] = 0
        heap_push(gpu, now + gpu.lds, slot * 8 + _READY)
    else:
        gpu.waiting[slot] = 1


@inlined
def _compute(f, gpu, slot, now):
    """Put a step on the CU's matrix pipe, after what is on it."""
    cycles = gpu.step_cycles
    if gpu.step[slot] == gpu.steps - 1:
        # The matrix instruction's K granularity (32x32x8).
        cycles *= (gpu.tail_k + 7) // 8 * 8 / gpu.depth_u
    cu = slot // f.slots_per_cu
    end = max(float(now), gpu.pipe_free[cu]) + cycles
    gpu.pipe_free[cu] = end
    heap_push(gpu, np.int64(np.ceil(end)), slot * 8 + _DONE)


@compiled
def _begin_stores(s, g, slot, now):
    f, gpu = s.fixed[0], s.gpu[g]
    w = workgroup_at(gpu, gpu.dispatch_index[slot])
    ends = 0
    for v in range(gpu.waves):
        if s.per_wave[w, v] > 0:
            ends += 1
    gpu.emit_from[slot] = now
    gpu.emitted[slot] = 0
    output_atoms = s.output_start[w + 1] - s.output_start[w]
    if f.mode == MODE_SCATTER and gpu.dispatch_index[slot] >= gpu.tracked_first:
        gpu.emitted[slot] = output_atoms
        output_atoms = 0
    gpu.remaining[slot] = output_atoms + ends
    if gpu.remaining[slot] == 0:
        _finish(s, g, slot, now)
    else:
        heap_push(gpu, now, slot * 8 + _STORE)


@inlined
def _queue_store(s, g, channel, slot, w, what, now):
    """A store leaves the CU when it is in the store buffer, the first part of the queue."""
    i = (channel.store_head + channel.store_count) & (STORES - 1)
    channel.store_slot[i] = slot
    channel.store_workgroup[i] = w
    channel.store_what[i] = what
    channel.store_count += 1
    if channel.store_count <= s.fixed[0].store_buffer:
        _store_left(s, g, slot, now)


@inlined
def pop_store(s, g, channel, now):
    """The oldest store has been taken; the first one that waits enters the store buffer."""
    depth = s.fixed[0].store_buffer
    if channel.store_count > depth:
        i = (channel.store_head + depth) & (STORES - 1)
        _store_left(s, g, np.int64(channel.store_slot[i]), now)
    channel.store_head = (channel.store_head + 1) & (STORES - 1)
    channel.store_count -= 1


@compiled
def _emit(s, g, slot, now):
    """Give the channels what the CU has put out by now; a CU stores at its own pace."""
    f, gpu = s.fixed[0], s.gpu[g]
    w = workgroup_at(gpu, gpu.dispatch_index[slot])
    first = s.output_start[w]
    output_atoms = s.output_start[w + 1] - first
    i = gpu.emitted[slot]
    while i < output_atoms:
        due = gpu.emit_from[slot] + i * gpu.store_cycles // output_atoms
        channel = s.channel[g * f.channels + s.output_channel[first + i]]
        if due > now or channel.store_count == STORES:
            gpu.emitted[slot] = i
            heap_push(gpu, max(due, now + 1), slot * 8 + _STORE)
            return
        _queue_store(s, g, channel, slot, w, first + i, now)
        i += 1
    gpu.emitted[slot] = i
    channel = s.channel[g * f.channels + gpu.dispatch_index[slot] % f.channels]
    if channel.store_count > STORES - gpu.waves:
        heap_push(gpu, now + 1, slot * 8 + _STORE)
        return
    for v in range(gpu.waves):
        if s.per_wave[w, v] > 0:
            _queue_store(s, g, channel, slot, w, -1 - v, now)


@inlined
def _store_left(s, g, slot, now):
    """A store or tile end of a slot has left the CU."""
    gpu = s.gpu[g]
    gpu.remaining[slot] -= 1
    if gpu.remaining[slot] == 0:
        _finish(s, g, slot, now)


@compiled
def _finish(s, g, slot, now):
    f, gpu = s.fixed[0], s.gpu[g]
    gpu.finished += 1
    s.stage_end[g, gpu.dispatch_index[slot] // f.slots] = now
    gpu.free_ring[(gpu.free_head + gpu.free_count) % f.slots] = slot
    gpu.free_count += 1


@inlined
def _dispatchable(f, gpu):
    """Dispatch index below which the dispatcher gives out workgroups: all of them, or those of the
    stages up to the first that has not ended."""
    if not f.by_stage:
        return gpu.workgroups
    return min(gpu.workgroups, (gpu.finished // f.slots + 1) * f.slots)


@compiled
def _dispatch(s, g, now, limit):
    f, gpu = s.fixed[0], s.gpu[g]
    while (
        gpu.free_count > 0
        and gpu.next_dispatch_index < min(limit, _dispatchable(f, gpu))
        and gpu.next_dispatch <= now
        and s.hold[g, gpu.next_dispatch_index] == 0
    ):
        slot = gpu.free_ring[gpu.free_head]
        gpu.free_head = (gpu.free_head + 1) % f.slots
        gpu.free_count -= 1
        gpu.dispatch_index[slot] = gpu.next_dispatch_index
        gpu.step[slot] = 0
        gpu.waiting[slot] = 0
        stage = gpu.next_dispatch_index // f.slots
        if s.stage_begin[g, stage] < 0:
            s.stage_begin[g, stage] = now
        launch = f.launch + s.launch_late[g, gpu.next_dispatch_index]
        gpu.next_dispatch_index += 1
        # A fraction of a cycle is kept while dispatches follow each other.
        gpu.next_dispatch = max(gpu.next_dispatch, now - 1.0) + f.dispatch_interval
        heap_push(gpu, now + launch, slot * 8 + _LAUNCHED)


@compiled
def _launched(s, g, slot, now):
    """A workgroup has started up and asks for its first tiles."""
    f, gpu = s.fixed[0], s.gpu[g]
    if gpu.steps == 0:
        if gpu.dispatch_index[slot] < gpu.tracked_first:
            _fetch_output(s, g, slot, now)
        else:
            _begin_stores(s, g, slot, now)
        return
    for step in range(min(f.prefetch, gpu.steps)):
        _fetch(s, g, slot, step, now)
    gpu.waiting[slot] = 1


@inlined
def _event(s, g, code, now):
    f, gpu = s.fixed[0], s.gpu[g]
    kind = code & 7
    slot = code >> 3
    if kind == _DATA:
        buffer = slot
        slot = buffer // f.prefetch
        gpu.arrived[buffer] = 1
        if gpu.steps == 0:
            _begin_stores(s, g, slot, now)
        elif gpu.waiting[slot] and gpu.step[slot] % f.prefetch == buffer % f.prefetch:
            _try_step(f, gpu, slot, now)
    elif (kind == _LAUNCHED or kind == _READY) and not _has_room(s, g):
        heap_push(gpu, now + 1, code)
    elif kind == _LAUNCHED:
        _launched(s, g, slot, now)
    elif kind == _READY:
        if gpu.step[slot] + f.prefetch < gpu.steps:
            _fetch(s, g, slot, gpu.step[slot] + f.prefetch, now)
        _compute(f, gpu, slot, now)
    elif kind == _DONE:
        gpu.step[slot] += 1
        if gpu.step[slot] < gpu.steps:
            _try_step(f, gpu, slot, now)
        else:
            heap_push(gpu, now + f.epilogue, slot * 8 + _EPILOGUE)
    elif kind == _STORE:
        _emit(s, g, slot, now)
    else:
        _begin_stores(s, g, slot, now)


@inlined
def produce(s, g, now, limit):
    """Advance the workgroups of GPU ``g`` to cycle ``now``; dispatch indices below ``limit`` may
    start."""
    f, gpu = s.fixed[0], s.gpu[g]
    if gpu.free_count > 0 and gpu.next_dispatch_index < gpu.workgroups:
        _dispatch(s, g, now, limit)
        following, end = gpu.next_dispatch_index, _dispatchable(f, gpu)
        if limit <= following < end:
            gpu.throttled += gpu.free_count
            if gpu.free_count > 0:
                s.withheld[g, following] += 1
        elif gpu.free_count > 0 and following < end and s.hold[g, following] > 0:
            s.hold[g, following] -= 1
    while next_event(gpu) <= now:
        _event(s, g, heap_pop(gpu), now)
