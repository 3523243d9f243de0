"""The GEMM on the compute units: workgroups that fetch, wait, compute and store.

A workgroup is dispatched in production order as a slot becomes free, fetches the A and B tiles of
each depth-U step through the L2 ``prefetch`` steps ahead, writes them into its LDS buffer, and
computes on its CU's matrix pipe, which serves one workgroup's step at a time. After the last step
it stores its output tile and gives the slot back when the last store has left the CU. Workgroups of
one CU overlap each other's waiting; nothing else hides it.

Time is in memory-clock cycles. ``g`` is the GPU, ``s`` the slot, ``b`` a prefetch buffer.
"""

from collections import namedtuple

import numpy as np

from .compiled import compiled
from .events import CODE_BITS, heap_pop, heap_push
from .interleave import channel_of_atom, local_of_atom
from .kernel import A_ATOM, ATOM_BYTES, B_ATOM, ELEMENT_BYTES, Kernel, Sectors

__all__ = [
    "MODE_GEMM",
    "MODE_SCATTER",
    "Producer",
    "buffer_progress",
    "new_producer",
    "produce",
    "store_left",
]

MODE_GEMM = 0
# Reduce-scatter alone with the partial products already in memory: the first chunk is read and
# stored, of the others only the tile ends are announced.
MODE_SCATTER = 1

_LAUNCHED, _DATA, _READY, _DONE, _STORE, _EPILOGUE = range(6)

# An entry of a channel's store queue: slot, then a sector's index in the table or, negative, a tile
# end.
StoreQueue = namedtuple("StoreQueue", ["slot", "what", "head", "count"])
RequestQueue = namedtuple("RequestQueue", ["line", "mask", "token", "head", "count"])

Producer = namedtuple(
    "Producer",
    [
        "fixed",  # see _Fixed
        "flops_cycles",  # float: cycles of a full depth-U step on the matrix pipe
        "heap",
        "heap_size",
        "place",  # [g, s]
        "step",
        "waiting",
        "remaining",
        "emitted",
        "emit_from",
        "pending",  # [g, s * prefetch + b]
        "ready_at",
        "arrived",
        "pipe_free",  # float [g, cu]
        "pipe_busy",  # float [g]: busy cycles of all matrix pipes
        "free_ring",  # [g, s]
        "free_head",
        "free_count",
        "next_place",
        "next_dispatch",  # float
        "finished",
        "stage_begin",  # [g, stage]
        "stage_end",
        "tile_row",  # [workgroup]
        "tile_column",
        "sector_start",
        "sector_atom",
        "sector_channel",
        "sector_wave",
        "per_wave",
        "row_edge",
        "run_edge",
        "stores",  # StoreQueue, [g * channels + c, entry]
        "requests",  # RequestQueue
    ],
)

_Fixed = namedtuple(
    "_Fixed",
    [
        "mode", "slots", "slots_per_cu", "prefetch", "steps", "tail_k", "workgroups", "waves",
        "tile_m", "tile_n", "m", "n", "pitch_k", "depth_atoms", "depth_u", "channels",
        "offset_bits", "channel_bits", "launch", "lds", "epilogue", "fetch_cycles", "store_cycles",
        "hit_latency", "dispatch_interval_milli",
    ],
)  # fmt: skip


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 1).bit_length()


def new_producer(
    kernel: Kernel,
    sectors: Sectors,
    gpus: int,
    channels: int,
    *,
    mode: int,
    offset_bits: int,
    channel_bits: int,
    compute_units: int,
    workgroups_per_cu: int,
    prefetch: int,
    step_cycles: float,
    launch_cycles: int,
    lds_cycles: int,
    epilogue_cycles: int,
    fetch_cycles: int,
    store_cycles: int,
    hit_latency_cycles: int,
    dispatch_interval_cycles: float,
) -> Producer:
    """State of a kernel on ``gpus`` GPUs that is yet to be dispatched.

    ``step_cycles`` is a full depth-U step on the matrix pipe; ``fetch_cycles`` the least time in
    which a CU takes in such a step's tiles, ``store_cycles`` that in which it puts out its output
    tile.
    """
    slots = compute_units * workgroups_per_cu
    waves = kernel.waves
    most_sectors = int(np.diff(sectors.start).max(initial=1))
    store_capacity = _power_of_two(slots * (most_sectors + waves))
    depth_atoms = max(1, kernel.depth_u * ELEMENT_BYTES // ATOM_BYTES)
    pieces = (kernel.tile_m + kernel.tile_n) * (depth_atoms // 4 + 2)
    pieces = max(pieces, most_sectors)
    request_capacity = _power_of_two(slots * prefetch * pieces)
    queues = gpus * channels
    stages = -(-kernel.workgroups // slots)

    def i64(*shape):
        return np.zeros(shape, np.int64)

    free_ring = np.empty((gpus, slots), np.int64)
    # The dispatcher fills the CUs evenly before it gives any a second workgroup.
    order = np.arange(slots).reshape(compute_units, workgroups_per_cu).T.ravel()
    free_ring[:] = order
    steps = kernel.steps if mode == MODE_GEMM else 0
    fixed = _Fixed(
        mode=mode,
        slots=slots,
        slots_per_cu=workgroups_per_cu,
        prefetch=prefetch,
        steps=steps,
        tail_k=kernel.k - (kernel.steps - 1) * kernel.depth_u,
        workgroups=kernel.workgroups,
        waves=waves,
        tile_m=kernel.tile_m,
        tile_n=kernel.tile_n,
        m=kernel.m,
        n=kernel.n,
        pitch_k=-(-kernel.k * ELEMENT_BYTES // ATOM_BYTES),
        depth_atoms=depth_atoms,
        depth_u=kernel.depth_u,
        channels=channels,
        offset_bits=offset_bits,
        channel_bits=channel_bits,
        launch=launch_cycles,
        lds=lds_cycles,
        epilogue=epilogue_cycles,
        fetch_cycles=fetch_cycles,
        store_cycles=store_cycles,
        hit_latency=hit_latency_cycles,
        dispatch_interval_milli=round(dispatch_interval_cycles * 1000),
    )
    tile_row, tile_column = kernel.tiles
    _, _, _, row_edge, run_edge = kernel.walk
    return Producer(
        fixed=fixed,
        flops_cycles=float(step_cycles),
        heap=i64(gpus, slots * (prefetch + 3) + 8),
        heap_size=i64(gpus),
        place=i64(gpus, slots),
        step=i64(gpus, slots),
        waiting=i64(gpus, slots),
        remaining=i64(gpus, slots),
        emitted=i64(gpus, slots),
        emit_from=i64(gpus, slots),
        pending=i64(gpus, slots * prefetch),
        ready_at=i64(gpus, slots * prefetch),
        arrived=i64(gpus, slots * prefetch),
        pipe_free=np.zeros((gpus, compute_units)),
        pipe_busy=np.zeros(gpus),
        free_ring=free_ring,
        free_head=i64(gpus),
        free_count=np.full(gpus, slots, np.int64),
        next_place=i64(gpus),
        next_dispatch=np.zeros(gpus),
        finished=i64(gpus),
        stage_begin=np.full((gpus, stages), -1, np.int64),
        stage_end=np.full((gpus, stages), -1, np.int64),
        tile_row=tile_row.astype(np.int64),
        tile_column=tile_column.astype(np.int64),
        sector_start=sectors.start,
        sector_atom=sectors.atom,
        sector_channel=sectors.channel,
        sector_wave=sectors.wave,
        per_wave=sectors.per_wave,
        row_edge=row_edge.astype(np.int64),
        run_edge=run_edge.astype(np.int64),
        stores=StoreQueue(
            np.zeros((queues, store_capacity), np.int32),
            np.zeros((queues, store_capacity), np.int32),
            i64(queues),
            i64(queues),
        ),
        requests=RequestQueue(
            i64(queues, request_capacity),
            np.zeros((queues, request_capacity), np.int32),
            np.zeros((queues, request_capacity), np.int32),
            i64(queues),
            i64(queues),
        ),
    )


@compiled
def _request(p, q, line, mask, token):
    r = p.requests
    size = r.line.shape[1]
    assert r.count[q] < size
    i = (r.head[q] + r.count[q]) & (size - 1)
    r.line[q, i] = line
    r.mask[q, i] = mask
    r.token[q, i] = token
    r.count[q] += 1


@compiled
def _fetch_span(p, g, atom, end, token):
    """Request the lines of atoms ``atom`` to ``end - 1`` that lie in the simulated channels."""
    f = p.fixed
    count = 0
    while atom < end:
        stop = min(end, (atom | 3) + 1)
        c = channel_of_atom(atom, f.offset_bits, f.channel_bits)
        if c < f.channels:
            local = local_of_atom(atom, f.offset_bits, f.channel_bits)
            first = local & 3
            mask = ((1 << (stop - atom)) - 1) << first
            _request(p, g * f.channels + c, local >> 2, mask, token)
            count += 1
        atom = stop
    return count


@compiled
def _workgroup(p, first_workgroup, place):
    w = place + first_workgroup
    return w - p.fixed.workgroups if w >= p.fixed.workgroups else w


@compiled
def _fetch(p, g, s, step, now, first_workgroup):
    """Ask for the A and B tiles of one step."""
    f = p.fixed
    buffer = s * f.prefetch + step % f.prefetch
    w = _workgroup(p, first_workgroup[g], p.place[g, s])
    k0 = step * f.depth_atoms
    k1 = min(k0 + f.depth_atoms, f.pitch_k)
    row = p.tile_row[w] * f.tile_m
    count = 0
    for r in range(row, min(row + f.tile_m, f.m)):
        count += _fetch_span(p, g, A_ATOM + r * f.pitch_k + k0, A_ATOM + r * f.pitch_k + k1, buffer)
    column = p.tile_column[w] * f.tile_n
    for r in range(column, min(column + f.tile_n, f.n)):
        count += _fetch_span(p, g, B_ATOM + r * f.pitch_k + k0, B_ATOM + r * f.pitch_k + k1, buffer)
    _expect(p, g, buffer, count, now)


@compiled
def _fetch_output(p, g, s, now, first_workgroup):
    """Ask for the workgroup's own output tile."""
    f = p.fixed
    w = _workgroup(p, first_workgroup[g], p.place[g, s])
    count = 0
    i = p.sector_start[w]
    while i < p.sector_start[w + 1]:
        j = i + 1
        while (
            j < p.sector_start[w + 1]
            and p.sector_atom[j] == p.sector_atom[j - 1] + 1
            and p.sector_atom[j] & 3 != 0
        ):
            j += 1
        count += _fetch_span(p, g, p.sector_atom[i], p.sector_atom[j - 1] + 1, s * f.prefetch)
        i = j
    _expect(p, g, s * f.prefetch, count, now)


@compiled
def _expect(p, g, buffer, count, now):
    p.pending[g, buffer] = count
    p.arrived[g, buffer] = 0
    p.ready_at[g, buffer] = now + p.fixed.fetch_cycles
    if count == 0:
        # Nothing of this step lies in the simulated channels.
        p.ready_at[g, buffer] = now + max(p.fixed.fetch_cycles, p.fixed.hit_latency)
        _schedule_data(p, g, buffer)


@compiled
def _schedule_data(p, g, buffer):
    heap_push(p.heap, p.heap_size, g, p.ready_at[g, buffer], buffer * 8 + _DATA)


@compiled
def buffer_progress(p, g, buffer, change, at):
    """Outstanding pieces of a buffer change; the last one's arrival ``at`` completes it."""
    p.pending[g, buffer] += change
    if at > p.ready_at[g, buffer]:
        p.ready_at[g, buffer] = at
    if p.pending[g, buffer] == 0:
        _schedule_data(p, g, buffer)


@compiled
def _try_step(p, g, s, now):
    """Move the awaited step's tiles into the LDS if they are there."""
    buffer = s * p.fixed.prefetch + p.step[g, s] % p.fixed.prefetch
    if p.arrived[g, buffer]:
        p.waiting[g, s] = 0
        heap_push(p.heap, p.heap_size, g, now + p.fixed.lds, s * 8 + _READY)
    else:
        p.waiting[g, s] = 1


@compiled
def _step_cycles(p, step):
    if step < p.fixed.steps - 1:
        return p.flops_cycles
    # The matrix instruction's K granularity (32x32x8).
    return p.flops_cycles * (-(-p.fixed.tail_k // 8) * 8) / p.fixed.depth_u


@compiled
def _begin_stores(p, g, s, now, first_workgroup, tracked_first):
    f = p.fixed
    w = _workgroup(p, first_workgroup[g], p.place[g, s])
    ends = 0
    for v in range(f.waves):
        if p.per_wave[w, v] > 0:
            ends += 1
    p.emit_from[g, s] = now
    p.emitted[g, s] = 0
    sectors = p.sector_start[w + 1] - p.sector_start[w]
    if f.mode == MODE_SCATTER and p.place[g, s] >= tracked_first[g]:
        p.emitted[g, s] = sectors
        sectors = 0
    p.remaining[g, s] = sectors + ends
    if p.remaining[g, s] == 0:
        _finish(p, g, s, now)
    else:
        heap_push(p.heap, p.heap_size, g, now, s * 8 + _STORE)


@compiled
def _queue_store(p, q, s, what):
    t = p.stores
    size = t.slot.shape[1]
    assert t.count[q] < size
    i = (t.head[q] + t.count[q]) & (size - 1)
    t.slot[q, i] = s
    t.what[q, i] = what
    t.count[q] += 1


@compiled
def _emit(p, g, s, now, first_workgroup):
    """Give the channels what the CU has put out by now; a CU stores at its own pace."""
    f = p.fixed
    w = _workgroup(p, first_workgroup[g], p.place[g, s])
    first = p.sector_start[w]
    sectors = p.sector_start[w + 1] - first
    i = p.emitted[g, s]
    while i < sectors:
        due = p.emit_from[g, s] + i * f.store_cycles // sectors
        if due > now:
            p.emitted[g, s] = i
            heap_push(p.heap, p.heap_size, g, due, s * 8 + _STORE)
            return
        _queue_store(p, g * f.channels + p.sector_channel[first + i], s, first + i)
        i += 1
    p.emitted[g, s] = i
    q = g * f.channels + p.place[g, s] % f.channels
    for v in range(f.waves):
        if p.per_wave[w, v] > 0:
            _queue_store(p, q, s, -1 - v)


@compiled
def store_left(p, g, s, now):
    """A store or tile end of slot ``s`` has left the CU."""
    p.remaining[g, s] -= 1
    if p.remaining[g, s] == 0:
        _finish(p, g, s, now)


@compiled
def _finish(p, g, s, now):
    f = p.fixed
    p.finished[g] += 1
    stage = p.place[g, s] // f.slots
    p.stage_end[g, stage] = now
    tail = p.free_head[g] + p.free_count[g]
    p.free_ring[g, tail % f.slots] = s
    p.free_count[g] += 1


@compiled
def _dispatch(p, g, now, limit):
    f = p.fixed
    while (
        p.free_count[g] > 0
        and p.next_place[g] < f.workgroups
        and p.next_place[g] < limit
        and p.next_dispatch[g] <= now
    ):
        s = p.free_ring[g, p.free_head[g]]
        p.free_head[g] = (p.free_head[g] + 1) % f.slots
        p.free_count[g] -= 1
        p.place[g, s] = p.next_place[g]
        p.step[g, s] = 0
        p.waiting[g, s] = 0
        stage = p.next_place[g] // f.slots
        if p.stage_begin[g, stage] < 0:
            p.stage_begin[g, stage] = now
        p.next_place[g] += 1
        p.next_dispatch[g] = max(p.next_dispatch[g], float(now)) + f.dispatch_interval_milli / 1000
        heap_push(p.heap, p.heap_size, g, now + f.launch, s * 8 + _LAUNCHED)


@compiled
def produce(p, g, now, limit, first_workgroup, tracked_first):
    """Advance the workgroups of GPU ``g`` to cycle ``now``; places below ``limit`` may start."""
    f = p.fixed
    if p.free_count[g] > 0 and p.next_place[g] < f.workgroups:
        _dispatch(p, g, now, limit)
    while p.heap_size[g] > 0 and (p.heap[g, 0] >> CODE_BITS) <= now:
        code = heap_pop(p.heap, p.heap_size, g)
        kind = code & 7
        s = code >> 3
        if kind == _DATA:
            buffer = s
            s = buffer // f.prefetch
            p.arrived[g, buffer] = 1
            if f.steps == 0:
                _begin_stores(p, g, s, now, first_workgroup, tracked_first)
            elif p.waiting[g, s] and p.step[g, s] % f.prefetch == buffer % f.prefetch:
                _try_step(p, g, s, now)
        elif kind == _LAUNCHED:
            if f.steps == 0:
                if p.place[g, s] < tracked_first[g]:
                    _fetch_output(p, g, s, now, first_workgroup)
                else:
                    _begin_stores(p, g, s, now, first_workgroup, tracked_first)
            else:
                for step in range(min(f.prefetch, f.steps)):
                    _fetch(p, g, s, step, now, first_workgroup)
                p.waiting[g, s] = 1
        elif kind == _READY:
            step = p.step[g, s]
            if step + f.prefetch < f.steps:
                _fetch(p, g, s, step + f.prefetch, now, first_workgroup)
            cu = s // f.slots_per_cu
            cycles = _step_cycles(p, step)
            begin = max(float(now), p.pipe_free[g, cu])
            p.pipe_free[g, cu] = begin + cycles
            p.pipe_busy[g] += cycles
            heap_push(p.heap, p.heap_size, g, np.int64(np.ceil(begin + cycles)), s * 8 + _DONE)
        elif kind == _DONE:
            p.step[g, s] += 1
            if p.step[g, s] < f.steps:
                _try_step(p, g, s, now)
            else:
                heap_push(p.heap, p.heap_size, g, now + f.epilogue, s * 8 + _EPILOGUE)
        elif kind == _STORE:
            _emit(p, g, s, now, first_workgroup)
        else:
            _begin_stores(p, g, s, now, first_workgroup, tracked_first)
