"""Access patterns on one channel of the DRAM model, and the share of the peak that they get.

A pattern is any order of requests; those here are the usual ones. Addresses are atoms of the
channel (32 bytes in the presets, whatever ``burst`` cycles carry in general).

>>> from t3.experiments.validation.patterns import fraction_of_peak, mixed
>>> from t3.experiments.validation.timings import RAMULATOR_PSEUDO_CHANNEL
>>> share = fraction_of_peak(RAMULATOR_PSEUDO_CHANNEL, mixed(reads=2, writes=1), queue_depth=32)
"""

from dataclasses import dataclass, replace

import numpy as np

from sysmodel.config.dram_timing import DramTiming
from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.lib.compiled import compiled
from sysmodel.memory.dram import DramState, dram_push, dram_room, dram_step, new_dram

from .timings import without_refresh

__all__ = [
    "Pattern",
    "fraction_of_peak",
    "mixed",
    "random_rows",
    "sequential",
    "strided",
]

_REQUESTS = 1 << 18
# Regions of a mix: so far apart that they share the bank, whatever the geometry.
_REGION_ATOMS = 1 << 24
_WARM_UP_CYCLES = 20_000


@dataclass(frozen=True, eq=False)
class Pattern:
    """Requests in the order in which they are offered, again from the start after the last.

    Parameters
    ----------
    atoms : array of int
        Atom address in the channel of each request.
    accesses : array of int
        ``READ``, ``WRITE`` or ``UPDATE`` of each request.

    Raises
    ------
    ValueError
        There is no request, a value is not allowed, or the two do not match.
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
    """One atom after the other. ``UPDATE``: op-and-store near the memory."""
    return strided(access, 1)


def strided(access: int, stride_atoms: int) -> Pattern:
    """Every ``stride_atoms``-th atom."""
    _at_least_one(stride_atoms=stride_atoms)
    return Pattern(np.arange(_REQUESTS) * stride_atoms, np.full(_REQUESTS, access))


def random_rows(access: int, seed: int = 1) -> Pattern:
    """Atoms anywhere in a channel of 8 GB, so that nearly every one lies in another row."""
    atoms = np.random.default_rng(seed).integers(0, 1 << 28, _REQUESTS)
    return Pattern(atoms, np.full(_REQUESTS, access))


def mixed(
    reads: int = 1,
    writes: int = 1,
    *,
    grain_atoms: int = 1,
    offset_bytes: int = 0,
    atom_bytes: int = 32,
) -> Pattern:
    """Two sequential streams in turn, reads of one region and writes of another.

    Parameters
    ----------
    reads, writes : int
        Their ratio: ``reads * grain_atoms`` reads, then ``writes * grain_atoms`` writes, and so on.
    grain_atoms : int
        Atoms of a ratio's unit.
    offset_bytes : int
        From the place of the second region at which both begin in the same bank, in different rows
        (unless the banks are permuted), to where it really begins.
    atom_bytes : int
        Size of an atom, of which the offset is a multiple.

    Raises
    ------
    ValueError
        A number is not at least 1, or the offset is negative or inside an atom.
    """
    _at_least_one(reads=reads, writes=writes, grain_atoms=grain_atoms, atom_bytes=atom_bytes)
    if offset_bytes < 0 or offset_bytes % atom_bytes:
        raise ValueError(
            f"offset_bytes must be a multiple of {atom_bytes} (atom_bytes), not {offset_bytes!r}"
        )
    turn = np.repeat([READ, WRITE], [reads * grain_atoms, writes * grain_atoms])
    accesses = np.tile(turn, -(-_REQUESTS // len(turn)))
    of_writes = accesses == WRITE
    place = np.where(of_writes, np.cumsum(of_writes), np.cumsum(~of_writes)) - 1
    base = np.where(of_writes, _REGION_ATOMS + offset_bytes // atom_bytes, 0)
    return Pattern(base + place, accesses)


def _at_least_one(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value!r}")


def fraction_of_peak(
    timing: DramTiming,
    pattern: Pattern,
    *,
    queue_depth: int | None = None,
    refresh: bool = True,
    cycles: int = 400_000,
) -> float:
    """Share of a channel's data-bus cycles that carry data while a pattern saturates it.

    Requests are offered in order, one a cycle as long as there is room for the next.

    Parameters
    ----------
    timing : DramTiming
        The channel.
    pattern : Pattern
        What is asked of it.
    queue_depth : int or None
        Requests that wait, reads and writes together; the timing's if not given.
    refresh : bool
        False leaves the timing's refresh out.
    cycles : int
        How long is measured, after the warm-up.

    Raises
    ------
    ValueError
        The queue's depth is not allowed, or nothing would be measured.
    """
    _at_least_one(cycles=cycles)
    if queue_depth is not None:
        timing = replace(timing, queue_depth=queue_depth)
    if not refresh:
        timing = without_refresh(timing)
    state = new_dram(timing, 1)
    requests = pattern.atoms, pattern.accesses
    following = _saturate(state, 0, _WARM_UP_CYCLES, *requests, 0)
    before = int(state.channel["busy_cycles"][0])
    _saturate(state, _WARM_UP_CYCLES, _WARM_UP_CYCLES + cycles, *requests, following)
    return (int(state.channel["busy_cycles"][0]) - before) / cycles


@compiled
def _saturate(
    state: DramState,
    begin: int,
    end: int,
    atoms: np.ndarray,
    accesses: np.ndarray,
    following: int,
) -> int:
    """Cycles ``begin`` to ``end``; returns the request to be offered next."""
    for now in range(begin, end):
        if dram_room(state, 0, accesses[following]):
            dram_push(state, 0, now, accesses[following], atoms[following], 0)
            following += 1
            if following == len(atoms):
                following = 0
        dram_step(state, 0, now, True)
    return following
