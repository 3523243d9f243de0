"""Access patterns: requests to one channel in the order of their offer."""

from dataclasses import dataclass

import numpy as np

from sysmodel.engine.codes import READ, UPDATE, WRITE

__all__ = [
    "Pattern",
    "mixed",
    "random_rows",
    "sequential",
    "streams",
    "strided",
]

_REQUESTS = 1 << 18
# Distance between the regions of a mix: they begin in the same bank in any geometry.
_REGION_ATOMS = 1 << 24


@dataclass(frozen=True, eq=False)
class Pattern:
    """Requests in the order of their offer.

    Parameters
    ----------
    atoms : array of int
        Atom address in the channel of each request.
    accesses : array of int
        ``READ``, ``WRITE`` or ``UPDATE`` of each request.

    Raises
    ------
    ValueError
        If there is no request, a value is not allowed, or the lengths differ.
    """

    atoms: np.ndarray
    accesses: np.ndarray

    def __post_init__(self) -> None:
        atoms = np.ascontiguousarray(self.atoms, np.int64)
        accesses = np.ascontiguousarray(self.accesses, np.int64)
        if atoms.ndim != 1 or atoms.shape != accesses.shape or not len(atoms):
            raise ValueError(
                "atoms and accesses must be one-dimensional, equally long and not empty, not of "
                f"shapes {atoms.shape} and {accesses.shape}"
            )
        if atoms.min() < 0:
            raise ValueError(f"atoms must be at least 0, not {atoms.min()}")
        unknown = accesses[~np.isin(accesses, (READ, WRITE, UPDATE))]
        if len(unknown):
            raise ValueError(f"accesses must be READ, WRITE or UPDATE, not {unknown[0]}")
        object.__setattr__(self, "atoms", atoms)
        object.__setattr__(self, "accesses", accesses)


def sequential(access: int) -> Pattern:
    """Access one atom after the other; ``UPDATE`` is op-and-store near the memory."""
    return strided(access, 1)


def strided(access: int, stride_atoms: int, *, requests: int = _REQUESTS) -> Pattern:
    """Access every ``stride_atoms``-th atom."""
    _at_least_one(stride_atoms=stride_atoms, requests=requests)
    return Pattern(np.arange(requests) * stride_atoms, np.full(requests, access))


def random_rows(access: int, seed: int = 1, *, requests: int = _REQUESTS) -> Pattern:
    """Access random atoms in a channel of 8 GB; nearly all of them lie in different rows."""
    _at_least_one(requests=requests)
    atoms = np.random.default_rng(seed).integers(0, 1 << 28, requests)
    return Pattern(atoms, np.full(requests, access))


def mixed(
    reads: int = 1,
    writes: int = 1,
    *,
    grain_atoms: int = 1,
    offset_bytes: int = 0,
    atom_bytes: int = 32,
    requests: int = _REQUESTS,
) -> Pattern:
    """Alternate between two sequential streams: reads of one region and writes of another.

    Parameters
    ----------
    reads, writes : int
        Ratio of a turn: ``reads * grain_atoms`` reads, then ``writes * grain_atoms`` writes.
    grain_atoms : int
        Atoms in a unit of the ratio.
    offset_bytes : int
        Offset of the second region. With offset 0 both regions begin in the same bank, in different
        rows (unless the banks are permuted).
    atom_bytes : int
        Size of an atom; the offset must be a multiple of it.
    requests : int
        Lower bound on the number of requests, which consist of whole turns.

    Raises
    ------
    ValueError
        If a number is less than 1, or the offset is negative or not a multiple of an atom.
    """
    _at_least_one(
        reads=reads,
        writes=writes,
        grain_atoms=grain_atoms,
        atom_bytes=atom_bytes,
        requests=requests,
    )
    if offset_bytes < 0 or offset_bytes % atom_bytes:
        raise ValueError(
            f"offset_bytes must be a multiple of {atom_bytes} (atom_bytes), not {offset_bytes!r}"
        )
    turn = np.repeat([READ, WRITE], [reads * grain_atoms, writes * grain_atoms])
    accesses = np.tile(turn, -(-requests // len(turn)))
    of_writes = accesses == WRITE
    place = np.where(of_writes, np.cumsum(of_writes), np.cumsum(~of_writes)) - 1
    base = np.where(of_writes, _REGION_ATOMS + offset_bytes // atom_bytes, 0)
    return Pattern(base + place, accesses)


def streams(
    reads: int, writes: int, *, grain_atoms: int = 16, seed: int = 1, requests: int = _REQUESTS
) -> Pattern:
    """Read some arrays and write others in step, as a kernel over whole arrays does.

    Parameters
    ----------
    reads, writes : int
        Number of arrays that are read, and that are written.
    grain_atoms : int
        Atoms of an array before those of the next one.
    seed : int
        Seed of the places where the arrays begin: rows at random, each array in a region of its
        own.
    requests : int
        Lower bound on the number of requests, which consist of whole turns.

    Raises
    ------
    ValueError
        If there is no array, or another number is less than 1.
    """
    arrays = reads + writes
    _at_least_one(arrays=arrays, grain_atoms=grain_atoms, requests=requests)
    begin = np.random.default_rng(seed).integers(0, _REGION_ATOMS >> 6, arrays) << 6
    turns = -(-requests // (arrays * grain_atoms))
    shape = turns, arrays, grain_atoms
    turn, array, within = (place.ravel() for place in np.indices(shape))
    atoms = array * 2 * _REGION_ATOMS + begin[array] + turn * grain_atoms + within
    return Pattern(atoms, np.where(array < reads, READ, WRITE))


def _at_least_one(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value!r}")
