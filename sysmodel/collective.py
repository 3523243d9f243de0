"""Ring collectives of the sequential baseline: kernels on the CUs that read, add and store
remotely.

Each channel streams through its part of a chunk with a bounded number of atoms in flight, in blocks
of ``BLOCK`` atoms per operand, the way a wavefront's wide loads arrive. A step begins when the
chunk of the step before it has arrived whole.
"""

from collections import namedtuple

import numpy as np

from .compiled import compiled

__all__ = [
    "Collective",
    "begin_step",
    "collective_next_read",
    "collective_read_back",
    "collective_read_taken",
    "collective_store",
    "collective_store_left",
    "new_collective",
    "step_done",
]

BLOCK = 8

Collective = namedtuple(
    "Collective",
    [
        "window",  # atoms in flight per channel
        "atoms",  # [q]: of this step
        "first",  # [q]: index of the step's first atom in the chunk table
        "operands",  # [g]: 0 (idle), 1 or 2 reads for each atom
        "second_offset",  # [g]: from the first operand to the second
        "next_read",  # [q]: reads issued
        "missing",  # [q, window]: operands of an atom on their way; -1: not asked for
        "stored",  # [q]: atoms that left
        "chunk_atom",  # [c, index]
        "channels",
    ],
)


def new_collective(gpus: int, channels: int, window: int, chunk_atom: np.ndarray) -> Collective:
    """An idle engine; ``window`` is a multiple of ``BLOCK``."""
    queues = gpus * channels

    def i64(*shape):
        return np.zeros(shape, np.int64)

    return Collective(
        window=window,
        atoms=i64(queues),
        first=i64(queues),
        operands=i64(gpus),
        second_offset=i64(gpus),
        next_read=i64(queues),
        missing=np.full((queues, window), -1, np.int64),
        stored=i64(queues),
        chunk_atom=chunk_atom,
        channels=channels,
    )


def begin_step(
    k: Collective, gpu: int, chunk_start: np.ndarray, chunk: int, operands: int, second_offset: int
) -> None:
    """Start streaming through ``chunk`` with one or two operands for each atom."""
    k.operands[gpu] = operands
    k.second_offset[gpu] = second_offset
    for c in range(k.channels):
        q = gpu * k.channels + c
        k.first[q] = chunk_start[c, chunk]
        k.atoms[q] = chunk_start[c, chunk + 1] - chunk_start[c, chunk]
        k.next_read[q] = k.stored[q] = 0
        k.missing[q] = -1


@compiled
def step_done(k, g):
    for c in range(k.channels):
        if k.stored[g * k.channels + c] < k.atoms[g * k.channels + c]:
            return False
    return True


@compiled
def collective_atom(k, q, i):
    """Address of the step's atom ``i`` in channel queue ``q``."""
    return k.chunk_atom[q % k.channels, k.first[q] + i]


@compiled
def _operand_of(k, g, q):
    """Atom index and operand of the next read; blocks of the two operands alternate."""
    n = k.next_read[q]
    if k.operands[g] == 1:
        return n, 0
    block = n // (2 * BLOCK) * BLOCK
    size = min(BLOCK, k.atoms[q] - block)
    within = n - 2 * block
    return block + within % size, within // size


@compiled
def collective_next_read(k, g, q):
    """The next read to issue: its atom address and tag, or -1 if none may be issued."""
    if k.operands[g] == 0 or k.next_read[q] >= k.operands[g] * k.atoms[q]:
        return -1, 0
    i, operand = _operand_of(k, g, q)
    if i >= k.stored[q] + k.window - BLOCK:
        return -1, 0
    atom = collective_atom(k, q, i)
    if operand == 1:
        atom += k.second_offset[g]
    return atom, i % k.window


@compiled
def collective_read_taken(k, g, q):
    i, operand = _operand_of(k, g, q)
    if operand == 0:
        k.missing[q, i % k.window] = k.operands[g]
    k.next_read[q] += 1


@compiled
def collective_read_back(k, q, tag):
    """An operand of the atom in flight with this tag has arrived."""
    k.missing[q, tag] -= 1


@compiled
def collective_store(k, q):
    """Address of the atom to store next, or -1 while its operands are on their way."""
    i = k.stored[q]
    if i >= k.atoms[q] or k.missing[q, i % k.window] != 0:
        return -1
    return collective_atom(k, q, i)


@compiled
def collective_store_left(k, q):
    k.missing[q, k.stored[q] % k.window] = -1
    k.stored[q] += 1
