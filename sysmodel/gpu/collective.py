"""Ring collectives as kernels on the CUs, which add and store remotely.

Every wavefront processes a contiguous part of a chunk in batches: it loads a batch of each operand,
waits for the last of these loads, stores the sums, and continues with the next batch. A batch is
the data that a wavefront of the collective's kernel holds in registers. Accesses pass through the
load and store ports of the wavefront's CU, at most ``BLOCK`` atoms at a time. A batch is spread
evenly over the channels, so each channel has an equal share of a port's rate. Among the wavefronts
with a free share, the one with the longest turn goes first; a turn ends with the batch. A step
begins when the whole chunk of the previous step has arrived.

If a kernel leaves its results in the L2, the L2 serves the loads of these results, and keeps the
packets from the link for later loads. Packets and stores of the collective also go to the memory.
"""

import numpy as np

from sysmodel.config.limits import MOST_COLLECTIVE_WAVES as MOST_WAVES
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER
from sysmodel.lib.phases import PHASES

__all__ = [
    "BLOCK",
    "CHANNEL_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "begin_step",
    "collective_hit",
    "collective_hits_back",
    "collective_next_read",
    "collective_read_back",
    "collective_read_taken",
    "collective_rests_until",
    "collective_store",
    "collective_store_left",
    "set_up_collective",
    "step_done",
]

# Adjacent atoms of a wavefront in a channel when each lane loads 16 bytes.
BLOCK = 8

# Capacity of a channel for reads in flight from the L2.
_HITS = 4096

FIXED_FIELDS = [
    ("collective_waves", np.int64),  # wavefronts that share a chunk, each with a contiguous part
    ("waves_per_cu", np.int64),
    ("batch_atoms", np.int64),  # atoms of a wavefront's batch per channel and operand
    ("port_cycles", np.float64),  # cycles per atom of a channel's share of a CU's port
    ("uses_l2", np.int64),  # 1: loads that hit the L2 are served by it, and arrivals are kept in it
]

GPU_FIELDS = [
    ("operands", np.int64),  # 0 (idle), 1 or 2 reads for each atom
    ("second_offset", np.int64),  # atoms from the first operand to the second
    ("load_turn", np.int64),  # wavefront that has the turn
    ("store_turn", np.int64),
    ("unissued", np.int64, (MOST_WAVES,)),  # reads of the batch still to be issued
    ("awaited", np.int64, (MOST_WAVES,)),  # reads of the batch that have not returned
    ("unstored", np.int64, (MOST_WAVES,)),  # atoms of the batch still to be stored
    # Atoms loaded from the L2, stored atoms, and the sums among them, by phase.
    ("l2_reads", np.int64, (PHASES,)),
    ("cu_stores", np.int64, (PHASES,)),
    ("cu_additions", np.int64, (PHASES,)),
]

CHANNEL_FIELDS = [
    ("step_atoms", np.int64),
    ("step_first", np.int64),  # index of the step's first atom in the chunk table
    ("step_stored", np.int64),  # stored atoms of the step
    # Part and batch of each wavefront, as indices in the step.
    ("part_end", np.int64, (MOST_WAVES,)),
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


def set_up_collective(
    state, *, cus: int, waves_per_cu: int, batch_atoms: int, port_cycles: float
) -> None:
    """Set up ``cus`` CUs for collectives.

    ``batch_atoms`` is a wavefront's batch in each channel, ``port_cycles`` the time that a
    channel's share of a CU's port takes for an atom.

    Raises
    ------
    ValueError
        If there are more wavefronts than the model supports.
    """
    waves = cus * waves_per_cu
    if waves > MOST_WAVES:
        raise ValueError(
            f"collective: {cus} CUs of {waves_per_cu} wavefronts are more than the {MOST_WAVES} "
            "that the model supports"
        )
    state.fixed["collective_waves"] = waves
    state.fixed["waves_per_cu"] = waves_per_cu
    state.fixed["batch_atoms"] = batch_atoms
    state.fixed["port_cycles"] = port_cycles


def begin_step(state, g: int, chunk: int, operands: int, second_offset: int) -> None:
    """Start GPU ``g`` on ``chunk`` with one or two operands for each atom."""
    state.gpu["operands"][g] = operands
    state.gpu["second_offset"][g] = second_offset
    state.gpu["load_turn"][g] = state.gpu["store_turn"][g] = 0
    channels = len(state.channel) // len(state.gpu)
    waves = int(state.fixed["collective_waves"][0])
    for c in range(channels):
        channel = state.channel[g * channels + c]
        atoms = int(state.chunk_start[c, chunk + 1] - state.chunk_start[c, chunk])
        channel["step_first"] = state.chunk_start[c, chunk]
        channel["step_atoms"] = atoms
        channel["step_stored"] = 0
        parts = np.minimum(np.arange(waves + 1) * -(-atoms // BLOCK) // waves * BLOCK, atoms)
        channel["part_end"][:waves] = parts[1:]
        channel["batch_first"][:waves] = parts[:-1]
        channel["batch_size"] = 0
        channel["loading"] = channel["storing"] = 0
        channel["load_wave"] = channel["store_wave"] = -1
        channel["load_try"] = channel["store_try"] = 0
    _begin(state, g)


@inlined
def _next_batch(s, g, w):
    f, gpu = s.fixed[0], s.gpu[g]
    atoms = np.int64(0)
    for c in range(f.channels):
        channel = s.channel[g * f.channels + c]
        first = channel.batch_first[w] + channel.batch_size[w]
        size = min(f.batch_atoms, channel.part_end[w] - first)
        channel.batch_first[w] = first
        channel.batch_size[w] = size
        channel.batch_read[w] = channel.batch_stored[w] = 0
        if size > 0:
            channel.loading += 1
            channel.load_try = 0
        atoms += size
    gpu.unissued[w] = gpu.awaited[w] = gpu.operands * atoms
    gpu.unstored[w] = atoms


@compiled
def _begin(s, g):
    for w in range(s.fixed[0].collective_waves):
        _next_batch(s, g, w)


@inlined
def step_done(s, g):
    channels = s.fixed[0].channels
    for c in range(channels):
        channel = s.channel[g * channels + c]
        if channel.step_stored < channel.step_atoms:
            return False
    return True


@inlined
def _following(f, w):
    return w + 1 if w + 1 < f.collective_waves else np.int64(0)


@inlined
def _begin_block(free, cu, now, f, atoms):
    """Occupy a port; consecutive blocks keep fractions of a cycle."""
    free[cu] = max(free[cu], now - 1.0) + f.port_cycles * min(np.int64(BLOCK), atoms)


@inlined
def _cycle_of(time):
    """First cycle at or after a time."""
    return np.int64(np.ceil(time)) if time < NEVER else NEVER


@compiled
def _begin_loads(f, gpu, channel, now):
    """Let the first ready wavefront, counted from the turn, begin a block of reads."""
    w, earliest = gpu.load_turn, float(NEVER)
    for _ in range(f.collective_waves):
        left = gpu.operands * channel.batch_size[w] - channel.batch_read[w]
        if left > 0:
            cu = w // f.waves_per_cu
            if channel.load_free[cu] <= now:
                _begin_block(channel.load_free, cu, now, f, left)
                channel.load_wave = w
                return
            earliest = min(earliest, channel.load_free[cu])
        w = _following(f, w)
    channel.load_try = _cycle_of(earliest)


@inlined
def collective_next_read(s, gpu, channel, c, now):
    """Atom address and wavefront of the next read to issue; -1 if none may be issued."""
    f = s.fixed[0]
    if channel.loading == 0:
        return np.int64(-1), np.int64(0)
    if channel.load_wave < 0:
        if now >= channel.load_try:
            _begin_loads(f, gpu, channel, now)
        if channel.load_wave < 0:
            return np.int64(-1), np.int64(0)
    w = channel.load_wave
    size, n = channel.batch_size[w], channel.batch_read[w]
    second = n >= size
    i = channel.batch_first[w] + (n - size if second else n)
    atom = s.chunk_atom[c, channel.step_first + i]
    if second:
        atom += gpu.second_offset
    return atom, w


@inlined
def collective_read_taken(f, gpu, channel):
    w = channel.load_wave
    channel.batch_read[w] += 1
    last = channel.batch_read[w] == gpu.operands * channel.batch_size[w]
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
def collective_hit(f, gpu, channel, w, now):
    """Serve the next read from the L2, unless too many of its reads are in flight."""
    if channel.hit_count == _HITS:
        return
    i = (channel.hit_head + channel.hit_count) & (_HITS - 1)
    channel.hit_time[i], channel.hit_wave[i] = now + f.hit_latency, w
    channel.hit_count += 1
    gpu.l2_reads[gpu.phase] += 1
    collective_read_taken(f, gpu, channel)


@inlined
def collective_hits_back(s, g, channel, now):
    """Deliver the reads that the L2 has served by now."""
    while channel.hit_count > 0 and channel.hit_time[channel.hit_head] <= now:
        w = channel.hit_wave[channel.hit_head]
        channel.hit_head = (channel.hit_head + 1) & (_HITS - 1)
        channel.hit_count -= 1
        collective_read_back(s, g, w)


@compiled
def _begin_stores(f, gpu, channel, now):
    """Let the first wavefront with all operands, counted from the turn, begin a block of stores."""
    w, earliest = gpu.store_turn, float(NEVER)
    for _ in range(f.collective_waves):
        left = channel.batch_size[w] - channel.batch_stored[w]
        if left > 0 and gpu.awaited[w] == 0:
            cu = w // f.waves_per_cu
            if channel.store_free[cu] <= now:
                _begin_block(channel.store_free, cu, now, f, left)
                channel.store_wave = w
                return
            earliest = min(earliest, channel.store_free[cu])
        w = _following(f, w)
    channel.store_try = _cycle_of(earliest)


@inlined
def collective_store(s, gpu, channel, c, now):
    """Address of the next atom to store, or -1 while operands are missing."""
    f = s.fixed[0]
    if channel.storing == 0:
        return np.int64(-1)
    if channel.store_wave < 0:
        if now >= channel.store_try:
            _begin_stores(f, gpu, channel, now)
        if channel.store_wave < 0:
            return np.int64(-1)
    w = channel.store_wave
    return s.chunk_atom[c, channel.step_first + channel.batch_first[w] + channel.batch_stored[w]]


@inlined
def collective_store_left(s, g, channel):
    f, gpu = s.fixed[0], s.gpu[g]
    w = channel.store_wave
    channel.batch_stored[w] += 1
    channel.step_stored += 1
    gpu.cu_stores[gpu.phase] += 1
    if gpu.operands == 2:
        gpu.cu_additions[gpu.phase] += 1
    gpu.unstored[w] -= 1
    last = channel.batch_stored[w] == channel.batch_size[w]
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
