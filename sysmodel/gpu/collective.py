"""Collectives as kernels on the CUs, which load, add and store, also to other GPUs.

A step of a GPU consists of tasks, one for each chunk: the sum of the chunk's operands is stored at
one or more targets. The wavefronts are divided among the tasks. Every wavefront processes a
contiguous part of a chunk in batches: it loads a batch of each operand, waits for the last of these
loads, stores the sums, and continues with the next batch. A batch is the data that a wavefront of
the collective's kernel holds in registers. Accesses pass through the load and store ports of the
wavefront's CU, at most ``BLOCK`` atoms at a time. Batches and the rate of the ports are divided
among the channels like the wavefront's part: where a channel has more than an equal share of the
part, it has as much more of each batch and of the rate. Among the wavefronts with a free share, the
one with the longest turn goes first; a turn ends with the batch.

Switches may add what tasks of all GPUs store for one GPU. A wavefront then begins a batch when all
but one of the sums' batches before it have arrived there, so that GPUs wait for each other. A task
may await such a sum, which arrives in the same step: a wavefront loads a block when all of its
atoms have arrived.

If a kernel leaves its results in the L2, the L2 serves the loads of these results, and keeps the
packets from the link for later loads. Packets and stores of the collective also go to the memory.
"""

from typing import Any

import numpy as np

from sysmodel.config.limits import MOST_COLLECTIVE_WAVES as MOST_WAVES
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER

__all__ = [
    "BLOCK",
    "CHANNEL_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "begin_tasks",
    "collective_arrival",
    "collective_hit",
    "collective_hits_back",
    "collective_next_read",
    "collective_read_back",
    "collective_read_taken",
    "collective_rests_until",
    "collective_store",
    "collective_store_left",
    "new_tables",
    "step_done",
]

# Adjacent atoms of a wavefront in a channel when each lane loads 16 bytes.
BLOCK = 8

# Capacity of a channel for reads in flight from the L2.
_HITS = 4096

FIXED_FIELDS = [
    ("collective_waves", np.int64),  # wavefronts that share the tasks of a step
    ("waves_per_cu", np.int64),
    ("batch_atoms", np.int64),  # atoms of a wavefront's batch for each channel and operand
    ("port_cycles", np.float64),  # cycles per atom of an equal share of a CU's port
    ("uses_l2", np.int64),  # 1: loads that hit the L2 are served by it, and arrivals are kept in it
    ("merges", np.int64),  # 1: switches add what tasks store
    ("sums_ahead", np.int64),  # atoms by which a batch may be ahead of the sums in a channel
]

GPU_FIELDS = [
    ("tasks", np.int64),  # tasks of the step; 0: idle
    ("sum_task", np.int64),  # task with the GPU's own part of the sum that arrives, or -1
    ("load_turn", np.int64),  # wavefront that has the turn
    ("store_turn", np.int64),
    ("wave_task", np.int64, (MOST_WAVES,)),  # task of each wavefront, or -1
    ("wave_number", np.int64, (MOST_WAVES,)),  # number among the wavefronts of its task
    ("wave_batch", np.int64, (MOST_WAVES,)),  # batches of the task that the wavefront has begun
    ("unissued", np.int64, (MOST_WAVES,)),  # reads of the batch still to be issued
    ("awaited", np.int64, (MOST_WAVES,)),  # reads of the batch that have not returned
    ("unstored", np.int64, (MOST_WAVES,)),  # stores of the batch still to be issued
    # Atoms loaded from the L2, stored atoms, and the additions, by activity.
    ("l2_reads", np.int64, (MOST_ACTIVITIES,)),
    ("cu_stores", np.int64, (MOST_ACTIVITIES,)),
    ("cu_additions", np.int64, (MOST_ACTIVITIES,)),
]

CHANNEL_FIELDS = [
    ("step_stores", np.int64),  # stores of the step
    ("step_stored", np.int64),  # among them, issued ones
    # Part and batch of each wavefront, as indices in the chunk table.
    ("part_end", np.int64, (MOST_WAVES,)),
    ("part_share", np.float64, (MOST_WAVES,)),  # part over a part of an equal share
    ("batch_first", np.int64, (MOST_WAVES,)),
    ("batch_size", np.int64, (MOST_WAVES,)),
    ("batch_read", np.int64, (MOST_WAVES,)),
    ("batch_stored", np.int64, (MOST_WAVES,)),
    ("loading", np.int64),  # wavefronts with reads to issue
    ("storing", np.int64),  # wavefronts with a batch to store
    ("load_wave", np.int64),  # wavefront in the middle of a block, or -1
    ("store_wave", np.int64),
    # Without such a wavefront: first cycle in which a wavefront may begin a block.
    ("load_try", np.int64),
    ("store_try", np.int64),
    # For each CU, the cycle from which the channel's share of its ports is free.
    ("load_free", np.float64, (MOST_WAVES,)),
    ("store_free", np.float64, (MOST_WAVES,)),
    ("hit_time", np.int64, (_HITS,)),  # arrival cycles of atoms from the L2, the oldest first
    ("hit_wave", np.int64, (_HITS,)),
    ("hit_head", np.int64),
    ("hit_count", np.int64),
]

_TASK = np.dtype(
    [
        ("waves", np.int64),
        ("operands", np.int64),
        ("targets", np.int64),
        ("awaits", np.int64),  # 1: the operand arrives in the same step
        ("receiver", np.int64),  # GPU for which switches add the stores, or -1
    ],
    align=True,
)
# Atoms by which a place's data are rotated among a channel's atoms of the output.
_ROTATION = ("rotation", np.int64)
_OPERAND = np.dtype([("offset", np.int64), _ROTATION], align=True)
_TARGET = np.dtype([("offset", np.int64), ("space", np.int64), _ROTATION], align=True)
_PART = np.dtype(
    [
        ("first", np.int64),  # index in the chunk table
        ("atoms", np.int64),
        ("even", np.float64),  # atoms in each channel of a chunk that is spread evenly
    ],
    align=True,
)


def new_tables(
    gpus: int,
    channels: int,
    tasks: int,
    operands: int,
    targets: int,
    *,
    awaited: int = 0,
    summing: int = 0,
) -> dict[str, Any]:
    """Make tables of the state for the most tasks of a step, and operands and targets of a task.

    ``task`` is indexed by GPU and task. ``operand`` has for each operand the offset in atoms from
    the chunk and the rotation, ``target`` for each target also the address space. ``task_part`` is
    indexed by channel of all GPUs and task. ``arrived`` has a flag for each of up to
    ``awaited`` atoms of a channel's part of an awaited operand, and ``sums_arrived`` the number of
    arrived atoms of the part of each of up to ``summing`` wavefronts.
    """
    return {
        "task": np.zeros((gpus, tasks), _TASK),
        "operand": np.zeros((gpus, tasks, operands), _OPERAND),
        "target": np.zeros((gpus, tasks, targets), _TARGET),
        "task_part": np.zeros((gpus * channels, tasks), _PART),
        "arrived": np.zeros((gpus * channels, awaited), np.uint8),
        "sums_arrived": np.zeros((gpus * channels, summing), np.int64),
    }


@inlined
def _cut(number, waves, atoms):
    """First atom of a part of a chunk: whole blocks, so that no load of a wavefront is torn."""
    blocks = np.int64(np.ceil(atoms / BLOCK))
    return min(number * blocks // waves * BLOCK, atoms)


@inlined
def _begin_part(s, g, w, task, number):
    """Give a wavefront its part of a task in every channel."""
    f, gpu, waves = s.fixed[0], s.gpu[g], s.task[g, task].waves
    gpu.wave_task[w], gpu.wave_number[w] = task, number
    gpu.wave_batch[w] = 0
    for q in range(g * f.channels, (g + 1) * f.channels):
        channel, part = s.channel[q], s.task_part[q, task]
        begin, end = _cut(number, waves, part.atoms), _cut(number + 1, waves, part.atoms)
        even = _cut(number + 1, waves, part.even) - _cut(number, waves, part.even)
        channel.part_share[w] = (end - begin) / (even if even > 0 else float(BLOCK))
        channel.batch_first[w] = part.first + begin
        channel.part_end[w] = part.first + end
        channel.batch_size[w] = 0


@inlined
def _begin_batch(s, g, w, task):
    """Give a wavefront its next batch; return its atoms, or -1 at the end of the part."""
    f, gpu, phase = s.fixed[0], s.gpu[g], 0.0
    number = gpu.wave_batch[w]
    gpu.wave_batch[w] = number + 1
    if s.task[g, task].awaits:
        # GPUs would else store their sums at the same time, and wait for each other's links.
        phase = (g + gpu.wave_number[w] / s.task[g, task].waves) / f.gpus
    atoms, ended = np.int64(0), True
    for q in range(g * f.channels, (g + 1) * f.channels):
        channel = s.channel[q]
        batch = f.batch_atoms * channel.part_share[w]
        first = channel.batch_first[w] + channel.batch_size[w]
        left = channel.part_end[w] - first
        ended = ended and left <= 0
        begun = np.int64(batch * max(number - phase, 0.0))
        size = min(np.int64(batch * (number + 1 - phase)) - begun, left)
        channel.batch_first[w] = first
        channel.batch_size[w] = size
        channel.batch_read[w] = channel.batch_stored[w] = 0
        if size > 0:
            channel.loading += 1
            channel.load_try = 0
            atoms += size
    return np.int64(-1) if ended else atoms


@compiled
def _next_batch(s, g, w):
    """Begin the next batch of a wavefront: of its part, or of the next task in its turn."""
    f, gpu = s.fixed[0], s.gpu[g]
    gpu.unissued[w] = gpu.awaited[w] = gpu.unstored[w] = 0
    task = gpu.wave_task[w]
    while task >= 0:
        atoms = _begin_batch(s, g, w, task)
        if atoms > 0:
            gpu.unissued[w] = gpu.awaited[w] = s.task[g, task].operands * atoms
            gpu.unstored[w] = s.task[g, task].targets * atoms
            return
        if atoms < 0:
            task += f.collective_waves
            if task >= gpu.tasks:
                gpu.wave_task[w] = task = np.int64(-1)
            else:
                _begin_part(s, g, w, task, np.int64(0))


@inlined
def _wave(f, tasks, place):
    """Wavefront at a place of the order in which the tasks take wavefronts.

    Ports serve the CUs in turn. Neighbours in the order are on different CUs, so that the stores of
    several tasks, which may go to different GPUs, alternate.
    """
    if tasks == 1:
        return place
    cus = f.collective_waves // f.waves_per_cu
    return place % cus * f.waves_per_cu + place // cus


@compiled
def begin_tasks(s, g):
    """Start the wavefronts of GPU ``g`` on the tasks of its step."""
    f, gpu = s.fixed[0], s.gpu[g]
    gpu.wave_task[:] = -1
    # With fewer wavefronts than tasks, each wavefront begins with one task of its own.
    for task in range(min(gpu.tasks, f.collective_waves)):
        for number in range(s.task[g, task].waves):
            place = task + number * gpu.tasks
            _begin_part(s, g, _wave(f, gpu.tasks, place), np.int64(task), np.int64(number))
    for w in range(f.collective_waves):
        _next_batch(s, g, w)


@inlined
def step_done(s, g):
    channels = s.fixed[0].channels
    for c in range(channels):
        channel = s.channel[g * channels + c]
        if channel.step_stored < channel.step_stores:
            return False
    return True


@inlined
def _following(f, w):
    return w + 1 if w + 1 < f.collective_waves else np.int64(0)


@inlined
def _begin_block(free, cu, now, port_cycles, atoms):
    """Occupy a port; consecutive blocks keep fractions of a cycle."""
    cycles = port_cycles * min(np.int64(BLOCK), atoms)
    free[cu] = max(free[cu], now - 1.0) + cycles


@inlined
def _cycle_of(time):
    """First cycle at or after a time."""
    return np.int64(np.ceil(time)) if time < NEVER else NEVER


@inlined
def _task_of(s, g, w):
    return s.task[g, s.gpu[g].wave_task[w]]


@compiled
def collective_arrival(s, g, c, atom):
    """Note that an atom has arrived from the link, if it is part of the sum for GPU ``g``."""
    f, gpu = s.fixed[0], s.gpu[g]
    if gpu.sum_task < 0:
        return
    q = g * f.channels + c
    part, waves = s.task_part[q, gpu.sum_task], s.task[g, gpu.sum_task].waves
    low, high = part.first, part.first + part.atoms
    while low < high:
        middle = (low + high) // 2
        if s.chunk_atom[c, middle] < atom:
            low = middle + 1
        else:
            high = middle
    if low == part.first + part.atoms or s.chunk_atom[c, low] != atom:
        return
    if s.arrived.shape[1] > 0:
        s.arrived[q, low - part.first] = 1
    number = np.int64(0)
    while low - part.first >= _cut(number + 1, waves, part.atoms):
        number += 1
    s.sums_arrived[q, number] += 1
    for other in range(f.gpus):
        s.channel[other * f.channels + c].load_try = 0


@inlined
def _waits(s, g, c, w, channel, atoms):
    """Return True if a wavefront may not load its next atoms yet: they have not arrived, or its
    batch is far ahead of the sums at the receiver.

    A batch is stored as a whole. If all sums before it have arrived, it never waits, however large.
    """
    f, gpu = s.fixed[0], s.gpu[g]
    q, one = g * f.channels + c, s.task[g, gpu.wave_task[w]]
    part = s.task_part[q, gpu.wave_task[w]]
    batch = channel.batch_first[w] - part.first
    if one.awaits:
        first = batch + channel.batch_read[w]
        for i in range(first, first + atoms):
            if s.arrived[q, i] == 0:
                return True
    if one.receiver >= 0:
        number = gpu.wave_number[w]
        arrived = s.sums_arrived[one.receiver * f.channels + c, number]
        return batch > _cut(number, one.waves, part.atoms) + arrived + f.sums_ahead
    return False


@compiled
def _begin_loads(s, g, channel, c, now):
    """Let the first ready wavefront, counted from the turn, begin a block of reads."""
    f, gpu = s.fixed[0], s.gpu[g]
    w, earliest = gpu.load_turn, float(NEVER)
    for _ in range(f.collective_waves):
        size = channel.batch_size[w]
        if size > 0:
            left = _task_of(s, g, w).operands * size - channel.batch_read[w]
            if left > 0:
                cu = w // f.waves_per_cu
                if f.merges and _waits(s, g, c, w, channel, min(left, np.int64(BLOCK))):
                    pass
                elif channel.load_free[cu] <= now:
                    port_cycles = f.port_cycles / channel.part_share[w]
                    _begin_block(channel.load_free, cu, now, port_cycles, left)
                    channel.load_wave = w
                    return
                else:
                    earliest = min(earliest, channel.load_free[cu])
        w = _following(f, w)
    channel.load_try = _cycle_of(earliest)


@inlined
def _atom_at(s, c, index, rotation):
    """Atom at an index of the chunk table, among the channel's atoms that are rotated."""
    if rotation > 0:
        atoms = s.chunk_start[c, s.chunk_start.shape[1] - 1]
        index += rotation % atoms
        if index >= atoms:
            index -= atoms
    return s.chunk_atom[c, index]


@inlined
def collective_next_read(s, g, channel, c, now):
    """Atom address and wavefront of the next read to issue; -1 if none may be issued."""
    if channel.loading == 0:
        return np.int64(-1), np.int64(0)
    if channel.load_wave < 0:
        if now >= channel.load_try:
            _begin_loads(s, g, channel, c, now)
        if channel.load_wave < 0:
            return np.int64(-1), np.int64(0)
    w = channel.load_wave
    size, n = channel.batch_size[w], channel.batch_read[w]
    number = np.int64(0) if n < size else n // size
    operand = s.operand[g, s.gpu[g].wave_task[w], number]
    index = channel.batch_first[w] + n - number * size
    return _atom_at(s, c, index, operand.rotation) + operand.offset, w


@inlined
def collective_read_taken(s, g, channel):
    f, gpu, w = s.fixed[0], s.gpu[g], channel.load_wave
    channel.batch_read[w] += 1
    last = channel.batch_read[w] == _task_of(s, g, w).operands * channel.batch_size[w]
    if last or channel.batch_read[w] % BLOCK == 0:
        channel.load_wave = -1
    if last:
        channel.loading -= 1
    gpu.unissued[w] -= 1
    if gpu.unissued[w] == 0 and w == gpu.load_turn:
        gpu.load_turn = _following(f, w)


@inlined
def collective_read_back(s, g, w):
    """Count an arrived operand of wavefront ``w``'s batch; the last one starts the stores."""
    f, gpu = s.fixed[0], s.gpu[g]
    gpu.awaited[w] -= 1
    if gpu.awaited[w] == 0:
        for c in range(f.channels):
            channel = s.channel[g * f.channels + c]
            if channel.batch_size[w] > 0:
                channel.storing += 1
                channel.store_try = 0


@inlined
def collective_hit(s, g, channel, w, now):
    """Serve the next read from the L2, unless too many of its reads are in flight."""
    f, gpu = s.fixed[0], s.gpu[g]
    if channel.hit_count == _HITS:
        return
    i = (channel.hit_head + channel.hit_count) & (_HITS - 1)
    channel.hit_time[i], channel.hit_wave[i] = now + f.hit_latency, w
    channel.hit_count += 1
    gpu.l2_reads[gpu.communication_activity] += 1
    collective_read_taken(s, g, channel)


@inlined
def collective_hits_back(s, g, channel, now):
    """Deliver the reads that the L2 has served by now."""
    while channel.hit_count > 0 and channel.hit_time[channel.hit_head] <= now:
        w = channel.hit_wave[channel.hit_head]
        channel.hit_head = (channel.hit_head + 1) & (_HITS - 1)
        channel.hit_count -= 1
        collective_read_back(s, g, w)


@compiled
def _begin_stores(s, g, channel, now):
    """Let the first wavefront with all operands, counted from the turn, begin a block of stores."""
    f, gpu = s.fixed[0], s.gpu[g]
    w, earliest = gpu.store_turn, float(NEVER)
    for _ in range(f.collective_waves):
        size = channel.batch_size[w]
        if size > 0 and gpu.awaited[w] == 0:
            left = _task_of(s, g, w).targets * size - channel.batch_stored[w]
            if left > 0:
                cu = w // f.waves_per_cu
                if channel.store_free[cu] <= now:
                    port_cycles = f.port_cycles / channel.part_share[w]
                    _begin_block(channel.store_free, cu, now, port_cycles, left)
                    channel.store_wave = w
                    return
                earliest = min(earliest, channel.store_free[cu])
        w = _following(f, w)
    channel.store_try = _cycle_of(earliest)


@inlined
def collective_store(s, g, channel, c, now):
    """Atom address and address space of the next store; -1 while operands are missing."""
    if channel.storing == 0:
        return np.int64(-1), np.int64(0)
    if channel.store_wave < 0:
        if now >= channel.store_try:
            _begin_stores(s, g, channel, now)
        if channel.store_wave < 0:
            return np.int64(-1), np.int64(0)
    w = channel.store_wave
    size, n = channel.batch_size[w], channel.batch_stored[w]
    number = np.int64(0) if n < size else n // size
    target = s.target[g, s.gpu[g].wave_task[w], number]
    index = channel.batch_first[w] + n - number * size
    return _atom_at(s, c, index, target.rotation) + target.offset, target.space


@inlined
def collective_store_left(s, g, channel):
    f, gpu, w = s.fixed[0], s.gpu[g], channel.store_wave
    task = _task_of(s, g, w)
    if channel.batch_stored[w] < channel.batch_size[w]:
        gpu.cu_additions[gpu.communication_activity] += task.operands - 1
    channel.batch_stored[w] += 1
    channel.step_stored += 1
    gpu.cu_stores[gpu.communication_activity] += 1
    gpu.unstored[w] -= 1
    last = channel.batch_stored[w] == task.targets * channel.batch_size[w]
    if last or channel.batch_stored[w] % BLOCK == 0:
        channel.store_wave = -1
    if last:
        channel.storing -= 1
    if gpu.unstored[w] == 0:
        if w == gpu.store_turn:
            gpu.store_turn = _following(f, w)
        _next_batch(s, g, w)


@inlined
def collective_rests_until(channel, now):
    """First cycle from ``now`` on in which the collective acts in the channel by itself."""
    if channel.load_wave >= 0 or channel.store_wave >= 0:
        return now
    at = NEVER
    if channel.loading > 0:
        at = channel.load_try
    if channel.storing > 0:
        at = min(at, channel.store_try)
    if channel.hit_count > 0:
        at = min(at, channel.hit_time[channel.hit_head])
    return max(at, now)
