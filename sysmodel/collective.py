"""Ring collectives of the sequential baseline: kernels on the CUs that add and store remotely.

Every CU takes a contiguous part of a chunk; the CUs' accesses take turns. Each channel streams
through its part of all that with a bounded number of atoms in flight, in blocks of ``BLOCK`` atoms
per operand, as a wavefront's wide loads arrive. A step begins when the chunk of the step before it
has arrived whole.
"""

import math

import numpy as np

from .compiled import compiled, inlined

__all__ = [
    "CHANNEL_FIELDS",
    "FIXED_FIELDS",
    "GPU_FIELDS",
    "MOST_WINDOW",
    "begin_step",
    "collective_next_read",
    "collective_read_back",
    "collective_read_taken",
    "collective_store",
    "collective_store_left",
    "step_done",
]

BLOCK = 8
# CUs are not in step: some load one operand while others load the other.
GROUP = 8 * BLOCK

MOST_WINDOW = 4096

FIXED_FIELDS = [
    ("window_atoms", np.int64),  # in flight per channel
    ("collective_cus", np.int64),  # that share a chunk, each with a contiguous part
]

GPU_FIELDS = [
    ("operands", np.int64),  # 0 (idle), 1 or 2 reads for each atom
    ("second_offset", np.int64),  # from the first operand to the second
]

CHANNEL_FIELDS = [
    ("step_atoms", np.int64),
    ("step_first", np.int64),  # index of the step's first atom in the chunk table
    ("step_stride", np.int64),  # blocks from one in flight to the next: another CU's part
    ("next_read", np.int64),  # reads issued
    ("missing", np.int64, (MOST_WINDOW,)),  # operands of an atom on their way; -1: not asked for
    ("step_stored", np.int64),  # atoms that left
]


def begin_step(state, g: int, chunk: int, operands: int, second_offset: int) -> None:
    """Start GPU ``g`` on ``chunk`` with one or two operands for each atom."""
    state.gpu["operands"][g] = operands
    state.gpu["second_offset"][g] = second_offset
    channels = len(state.channel) // len(state.gpu)
    for c in range(channels):
        channel = state.channel[g * channels + c]
        channel["step_first"] = state.chunk_start[c, chunk]
        atoms = int(state.chunk_start[c, chunk + 1] - state.chunk_start[c, chunk])
        channel["step_atoms"] = atoms
        channel["step_stride"] = _stride(atoms, int(state.fixed["collective_cus"][0]))
        channel["next_read"] = channel["step_stored"] = 0
        channel["missing"] = -1


def _stride(atoms: int, parts: int) -> int:
    """Blocks to step so that ``parts`` CUs take turns and every block comes once."""
    blocks = atoms // BLOCK
    if atoms % BLOCK or not 1 < parts < blocks:
        return 1
    return next(n for n in range(blocks // parts, blocks) if math.gcd(n, blocks) == 1)


@inlined
def _atom_of(s, channel, c, i):
    """Address of the atom that comes ``i``-th in the step."""
    block = i // BLOCK
    if channel.step_stride > 1:
        block = block * channel.step_stride % (channel.step_atoms // BLOCK)
    return s.chunk_atom[c, channel.step_first + block * BLOCK + i % BLOCK]


@inlined
def step_done(s, g):
    channels = s.fixed[0].channels
    for c in range(channels):
        channel = s.channel[g * channels + c]
        if channel.step_stored < channel.step_atoms:
            return False
    return True


@inlined
def _operand_of(gpu, channel):
    """Atom index and operand of the next read; groups of the two operands' blocks alternate."""
    n = channel.next_read
    if gpu.operands == 1:
        return n, np.int64(0)
    group = n // (2 * GROUP) * GROUP
    size = min(np.int64(GROUP), channel.step_atoms - group)
    within = n - 2 * group
    return group + within % size, within // size


@inlined
def collective_next_read(s, gpu, channel, c):
    """The next read to issue: its atom address and tag, or -1 if none may be issued."""
    if gpu.operands == 0 or channel.next_read >= gpu.operands * channel.step_atoms:
        return np.int64(-1), np.int64(0)
    window = s.fixed[0].window_atoms
    i, operand = _operand_of(gpu, channel)
    if i >= channel.step_stored + window - GROUP:
        return np.int64(-1), np.int64(0)
    atom = _atom_of(s, channel, c, i)
    if operand == 1:
        atom += gpu.second_offset
    return atom, i % window


@compiled
def collective_read_taken(gpu, channel, window):
    i, operand = _operand_of(gpu, channel)
    if operand == 0:
        channel.missing[i % window] = gpu.operands
    channel.next_read += 1


@inlined
def collective_read_back(channel, tag):
    """An operand of the atom in flight with this tag has arrived."""
    channel.missing[tag] -= 1


@inlined
def collective_store(s, channel, c):
    """Address of the atom to store next, or -1 while its operands are on their way."""
    i = channel.step_stored
    if i >= channel.step_atoms or channel.missing[i % s.fixed[0].window_atoms] != 0:
        return np.int64(-1)
    return _atom_of(s, channel, c, i)


@inlined
def collective_store_left(channel, window):
    channel.missing[channel.step_stored % window] = -1
    channel.step_stored += 1
