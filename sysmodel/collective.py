"""Ring collectives by kernels on the CUs, which add and store remotely.

Every CU takes a contiguous part of a chunk and works through it in batches: it loads a batch of
each operand, waits for the last of these loads, stores the sums, and goes on to the next batch. A
batch is what one workgroup of the collective's kernel holds in registers. Accesses pass through the
CU's load and store ports at their rate, ``BLOCK`` atoms at a time; among the CUs whose port is free
the one whose turn has lasted longest goes first, and a turn ends with the batch. A step begins when
the chunk of the step before it has arrived whole.
"""

import numpy as np

from .compiled import compiled, inlined

__all__ = [
    "BLOCK",
    "CHANNEL_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "MOST_CUS",
    "begin_step",
    "collective_next_read",
    "collective_read_back",
    "collective_read_taken",
    "collective_store",
    "collective_store_left",
    "set_up_collective",
    "step_done",
]

# Atoms that a CU has next to each other in a channel when its wavefronts load 16 B a lane.
BLOCK = 8

MOST_CUS = 1024

FIXED_FIELDS = [
    ("collective_cus", np.int64),  # that share a chunk, each with a contiguous part
    ("batch_atoms", np.int64),  # of a CU's batch, in each channel and operand
    ("port_cycles", np.float64),  # of a CU's port for an atom of a simulated channel
]

GPU_FIELDS = [
    ("operands", np.int64),  # 0 (idle), 1 or 2 reads for each atom
    ("second_offset", np.int64),  # from the first operand to the second
    ("load_turn", np.int64),  # CU whose turn it is
    ("store_turn", np.int64),
    ("unissued", np.int64, (MOST_CUS,)),  # reads of the CU's batch that have not been issued
    ("awaited", np.int64, (MOST_CUS,)),  # reads of the CU's batch that have not come back
    ("unstored", np.int64, (MOST_CUS,)),  # atoms of the CU's batch that have not left
    ("load_free", np.float64, (MOST_CUS,)),  # cycle from which the CU's port takes a block
    ("store_free", np.float64, (MOST_CUS,)),
]

CHANNEL_FIELDS = [
    ("step_atoms", np.int64),
    ("step_first", np.int64),  # index of the step's first atom in the chunk table
    ("step_stored", np.int64),  # atoms that left
    # Of each CU: its part and its batch, as indices in the step.
    ("part_end", np.int64, (MOST_CUS,)),
    ("batch_first", np.int64, (MOST_CUS,)),
    ("batch_size", np.int64, (MOST_CUS,)),
    ("batch_read", np.int64, (MOST_CUS,)),
    ("batch_stored", np.int64, (MOST_CUS,)),
    ("loading_cus", np.int64),  # with reads to issue
    ("storing_cus", np.int64),  # with a batch to store
    ("load_cu", np.int64),  # CU in the middle of a block, or -1
    ("store_cu", np.int64),
]


def set_up_collective(state, *, cus: int, batch_atoms: int, port_cycles: float) -> None:
    """Let ``cus`` CUs work on collectives.

    ``batch_atoms`` is a CU's batch in each channel, ``port_cycles`` the time of a CU's port for an
    atom of a simulated channel and for its share of the other channels.
    """
    state.fixed["collective_cus"] = cus
    state.fixed["batch_atoms"] = max(1, batch_atoms)
    state.fixed["port_cycles"] = port_cycles


def begin_step(state, g: int, chunk: int, operands: int, second_offset: int) -> None:
    """Start GPU ``g`` on ``chunk`` with one or two operands for each atom."""
    state.gpu["operands"][g] = operands
    state.gpu["second_offset"][g] = second_offset
    state.gpu["load_turn"][g] = state.gpu["store_turn"][g] = 0
    channels = len(state.channel) // len(state.gpu)
    cus = int(state.fixed["collective_cus"][0])
    for c in range(channels):
        channel = state.channel[g * channels + c]
        atoms = int(state.chunk_start[c, chunk + 1] - state.chunk_start[c, chunk])
        channel["step_first"] = state.chunk_start[c, chunk]
        channel["step_atoms"] = atoms
        channel["step_stored"] = 0
        parts = np.minimum(np.arange(cus + 1) * -(-atoms // BLOCK) // cus * BLOCK, atoms)
        channel["part_end"][:cus] = parts[1:]
        channel["batch_first"][:cus] = parts[:-1]
        channel["batch_size"] = 0
        channel["loading_cus"] = channel["storing_cus"] = 0
        channel["load_cu"] = channel["store_cu"] = -1
    _begin(state, g)


@inlined
def _next_batch(s, g, u):
    f, gpu = s.fixed[0], s.gpu[g]
    atoms = np.int64(0)
    for c in range(f.channels):
        channel = s.channel[g * f.channels + c]
        first = channel.batch_first[u] + channel.batch_size[u]
        size = min(f.batch_atoms, channel.part_end[u] - first)
        channel.batch_first[u] = first
        channel.batch_size[u] = size
        channel.batch_read[u] = channel.batch_stored[u] = 0
        if size > 0:
            channel.loading_cus += 1
        atoms += size
    gpu.unissued[u] = gpu.awaited[u] = gpu.operands * atoms
    gpu.unstored[u] = atoms


@compiled
def _begin(s, g):
    for u in range(s.fixed[0].collective_cus):
        _next_batch(s, g, u)


@inlined
def step_done(s, g):
    channels = s.fixed[0].channels
    for c in range(channels):
        channel = s.channel[g * channels + c]
        if channel.step_stored < channel.step_atoms:
            return False
    return True


@inlined
def _following(f, u):
    return u + 1 if u + 1 < f.collective_cus else np.int64(0)


@inlined
def _begin_block(free, u, now, f, atoms):
    """Occupy a port; a fraction of a cycle is kept while blocks follow each other."""
    free[u] = max(free[u], now - 1.0) + f.port_cycles * min(np.int64(BLOCK), atoms)


@inlined
def collective_next_read(s, gpu, channel, c, now):
    """The next read to issue: its atom address and CU, or -1 if none may be issued."""
    f = s.fixed[0]
    if channel.loading_cus == 0:
        return np.int64(-1), np.int64(0)
    if channel.load_cu < 0:
        u = gpu.load_turn
        for _ in range(f.collective_cus):
            left = gpu.operands * channel.batch_size[u] - channel.batch_read[u]
            if left > 0 and gpu.load_free[u] <= now:
                _begin_block(gpu.load_free, u, now, f, left)
                channel.load_cu = u
                break
            u = _following(f, u)
        if channel.load_cu < 0:
            return np.int64(-1), np.int64(0)
    u = channel.load_cu
    size, n = channel.batch_size[u], channel.batch_read[u]
    second = n >= size
    i = channel.batch_first[u] + (n - size if second else n)
    atom = s.chunk_atom[c, channel.step_first + i]
    if second:
        atom += gpu.second_offset
    return atom, u


@inlined
def collective_read_taken(f, gpu, channel):
    u = channel.load_cu
    channel.batch_read[u] += 1
    last = channel.batch_read[u] == gpu.operands * channel.batch_size[u]
    if last or channel.batch_read[u] % BLOCK == 0:
        channel.load_cu = -1
    if last:
        channel.loading_cus -= 1
    gpu.unissued[u] -= 1
    if gpu.unissued[u] == 0 and u == gpu.load_turn:
        gpu.load_turn = _following(f, u)


@inlined
def collective_read_back(s, g, u):
    """An operand of CU ``u``'s batch has arrived; the last one lets the batch be stored."""
    f, gpu = s.fixed[0], s.gpu[g]
    gpu.awaited[u] -= 1
    if gpu.awaited[u] == 0:
        for c in range(f.channels):
            channel = s.channel[g * f.channels + c]
            if channel.batch_size[u] > 0:
                channel.storing_cus += 1


@inlined
def collective_store(s, gpu, channel, c, now):
    """Address of the atom to store next, or -1 while all operands are on their way."""
    f = s.fixed[0]
    if channel.storing_cus == 0:
        return np.int64(-1)
    if channel.store_cu < 0:
        u = gpu.store_turn
        for _ in range(f.collective_cus):
            left = channel.batch_size[u] - channel.batch_stored[u]
            if left > 0 and gpu.awaited[u] == 0 and gpu.store_free[u] <= now:
                _begin_block(gpu.store_free, u, now, f, left)
                channel.store_cu = u
                break
            u = _following(f, u)
        if channel.store_cu < 0:
            return np.int64(-1)
    u = channel.store_cu
    return s.chunk_atom[c, channel.step_first + channel.batch_first[u] + channel.batch_stored[u]]


@inlined
def collective_store_left(s, g, channel):
    f, gpu = s.fixed[0], s.gpu[g]
    u = channel.store_cu
    channel.batch_stored[u] += 1
    channel.step_stored += 1
    gpu.unstored[u] -= 1
    last = channel.batch_stored[u] == channel.batch_size[u]
    if last or channel.batch_stored[u] % BLOCK == 0:
        channel.store_cu = -1
    if last:
        channel.storing_cus -= 1
    if gpu.unstored[u] == 0:
        if u == gpu.store_turn:
            gpu.store_turn = _following(f, u)
        _next_batch(s, g, u)
