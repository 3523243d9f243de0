"""L2 slices: sectored sets with LRU, and MSHRs that merge the misses of a sector.

A channel has its own slices. A line is allocated when the first of its missing sectors arrives.
Only reads come here: what bypasses the L2 is not cached, and nothing is ever written back.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numba import njit

from .bits import popcount

__all__ = ["L2Parameters", "L2State", "l2_access", "l2_fill", "l2_slice", "new_l2"]

_SECTOR_BITS = 2
SECTORS = 1 << _SECTOR_BITS
_BUCKETS = 256

# Fields of a set's ways.
_LINE, _VALID, _USED = range(3)

# The layouts do not depend on the geometry, so that one compilation serves all.
_MSHR = np.dtype(
    [
        ("line", np.int64),
        ("pending", np.int64),  # sectors
        ("next", np.int64),  # in the bucket or in the free list
        ("first", np.int64, (SECTORS,)),  # waiters of each sector
        ("last", np.int64, (SECTORS,)),
    ],
    align=True,
)
_WAITER = np.dtype([("token", np.int64), ("next", np.int64)], align=True)
_SLICE = np.dtype(
    [
        ("hits", np.int64),
        ("misses", np.int64),
        ("merges", np.int64),
        ("clock", np.int64),
        ("free_mshr", np.int64),
        ("free_waiter", np.int64),
        ("free_waiters", np.int64),
        ("buckets", np.int64, (_BUCKETS,)),  # first MSHR of each
    ],
    align=True,
)


@dataclass(frozen=True, kw_only=True)
class L2Parameters:
    """L2 of one channel. A line is four sectors, a sector one atom.

    Parameters
    ----------
    slices : int
        Slices of a channel; a power of two.
    sets, ways : int
        Geometry of a slice; ``sets`` is a power of two. The default is 256 KiB: 16 MiB over 32
        channels of 2 slices.
    mshrs : int
        Lines that a slice may be missing at once. GPGPU-Sim's V100 has 192, of 4 merges each.
    waiters : int
        Missing sectors for which a slice remembers who waits, over all its MSHRs.

    Raises
    ------
    TypeError
        If a parameter is not an integer.
    ValueError
        If a value is not allowed.
    """

    slices: int = 2
    sets: int = 128
    ways: int = 16
    mshrs: int = 192
    waiters: int = 768

    def __post_init__(self):
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an integer, not {value!r}")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value!r}")
        for name in ("slices", "sets"):
            value = getattr(self, name)
            if value & (value - 1):
                raise ValueError(f"{name} must be a power of two, not {value!r}")
        if self.waiters < SECTORS:
            raise ValueError(
                f"waiters must be at least the {SECTORS} sectors of a line, not {self.waiters!r}"
            )


class L2State(NamedTuple):
    """The slices of all channels, slice *s* of channel *c* at ``c * slices + s``.

    ``slices`` is a structured array with one element for each. Its counters ``hits``, ``misses``
    and ``merges`` are sectors asked for.
    """

    geometry: np.ndarray  # slice bits, set bits
    ways: np.ndarray  # slice and set, field, way
    mshrs: np.ndarray  # slice, MSHR
    waiters: np.ndarray  # slice, waiter
    slices: np.ndarray


def new_l2(parameters: L2Parameters, channels: int) -> L2State:
    """Empty slices.

    Raises
    ------
    ValueError
        If there is no channel.
    """
    if channels < 1:
        raise ValueError(f"channels must be at least 1, not {channels!r}")
    p = parameters
    count = channels * p.slices
    ways = np.zeros((count * p.sets, 3, p.ways), np.int64)
    ways[:, _LINE] = -1
    mshrs = np.zeros((count, p.mshrs), _MSHR)
    mshrs["next"] = np.append(np.arange(1, p.mshrs), -1)
    mshrs["first"] = -1
    waiters = np.zeros((count, p.waiters), _WAITER)
    waiters["next"] = np.append(np.arange(1, p.waiters), -1)
    slices = np.zeros(count, _SLICE)
    slices["free_waiters"] = p.waiters
    slices["buckets"] = -1
    geometry = np.array([p.slices.bit_length() - 1, p.sets.bit_length() - 1])
    return L2State(geometry, ways, mshrs, waiters, slices)


@njit(cache=True)
def _fold(value, bits):
    """Exclusive-or of all groups of `bits` bits."""
    if bits == 0:
        return np.int64(0)
    if bits == 1:
        return popcount(value) & 1
    folded = np.int64(0)
    while value:
        folded ^= value
        value >>= bits
    return folded & ((np.int64(1) << bits) - 1)


@njit(cache=True)
def l2_slice(state: L2State, ch: int, local_line: int) -> int:
    """Index of the slice that serves a line: a fold of all address bits, so that no stride keeps
    to one slice."""
    return (ch << state.geometry[0]) + _fold(local_line, state.geometry[0])


@njit(cache=True)
def _set(state, index, local_line):
    sets = state.geometry[1]
    return (index << sets) + _fold(local_line >> state.geometry[0], sets)


@njit(cache=True)
def _way(state, where, local_line):
    for way in range(state.ways.shape[2]):
        if state.ways[where, _LINE, way] == local_line:
            return way
    return -1


@njit(cache=True)
def _mshr(state, index, local_line):
    mshr = state.slices[index].buckets[local_line & (_BUCKETS - 1)]
    while mshr >= 0 and state.mshrs[index, mshr].line != local_line:
        mshr = state.mshrs[index, mshr].next
    return mshr


@njit(cache=True)
def l2_access(
    state: L2State, ch: int, local_line: int, sector_mask: int, waiter: int
) -> tuple[int, int, int, bool]:
    """Reads sectors of a line.

    Parameters
    ----------
    local_line : int
        Atom address in the channel, divided by four.
    sector_mask : int
        Sectors wanted, bit *i* for atom ``4 * local_line + i``.
    waiter : int
        Given back by :func:`l2_fill`, once for each sector that is not a hit.

    Returns
    -------
    hits, misses, merged : int
        The sectors that are there, those that the caller has to read from memory, and those that
        somebody else's miss will bring. Together they are ``sector_mask``.
    ok : bool
        False if the MSHRs or the waiters do not suffice. Then nothing happened, all masks are 0,
        and the caller tries again later.
    """
    index = l2_slice(state, ch, local_line)
    where = _set(state, index, local_line)
    way = _way(state, where, local_line)
    hits = np.int64(0)
    if way >= 0:
        hits = state.ways[where, _VALID, way] & sector_mask
    missing = sector_mask & ~hits
    merged = _miss(state, index, local_line, missing, waiter) if missing else np.int64(0)
    if merged < 0:
        return np.int64(0), np.int64(0), np.int64(0), False
    slice_ = state.slices[index]
    if way >= 0:
        slice_.clock += 1
        state.ways[where, _USED, way] = slice_.clock
    misses = missing & ~merged
    slice_.hits += popcount(hits)
    slice_.misses += popcount(misses)
    slice_.merges += popcount(merged)
    return hits, misses, merged, True


@njit(cache=True)
def _miss(state, index, local_line, missing, waiter):
    """The sectors that were missed before; -1 if there is no room."""
    slice_ = state.slices[index]
    mshr = _mshr(state, index, local_line)
    if slice_.free_waiters < popcount(missing) or (mshr < 0 and slice_.free_mshr < 0):
        return np.int64(-1)
    if mshr < 0:
        mshr = _take_mshr(state, index, local_line)
    m = state.mshrs[index, mshr]
    merged = missing & m.pending
    m.pending |= missing
    for sector in range(SECTORS):
        if missing >> sector & 1:
            _wait(state, index, m, sector, waiter)
    return merged


@njit(cache=True)
def _take_mshr(state, index, local_line):
    slice_ = state.slices[index]
    bucket = local_line & (_BUCKETS - 1)
    mshr = slice_.free_mshr
    m = state.mshrs[index, mshr]
    slice_.free_mshr = m.next
    m.line = local_line
    m.pending = 0
    m.next = slice_.buckets[bucket]
    slice_.buckets[bucket] = mshr
    return mshr


@njit(cache=True)
def _free_mshr(state, index, mshr):
    slice_ = state.slices[index]
    m = state.mshrs[index, mshr]
    bucket = m.line & (_BUCKETS - 1)
    before = slice_.buckets[bucket]
    if before == mshr:
        slice_.buckets[bucket] = m.next
    else:
        while state.mshrs[index, before].next != mshr:
            before = state.mshrs[index, before].next
        state.mshrs[index, before].next = m.next
    m.next = slice_.free_mshr
    slice_.free_mshr = mshr


@njit(cache=True)
def _wait(state, index, m, sector, token):
    slice_ = state.slices[index]
    waiter = slice_.free_waiter
    w = state.waiters[index, waiter]
    slice_.free_waiter = w.next
    slice_.free_waiters -= 1
    w.token = token
    w.next = -1
    if m.first[sector] < 0:
        m.first[sector] = waiter
    else:
        state.waiters[index, m.last[sector]].next = waiter
    m.last[sector] = waiter


@njit(cache=True)
def l2_fill(state: L2State, ch: int, local_atom: int, woken: np.ndarray) -> int:
    """Puts a missed sector in place, evicting the least recently used line if its line is new.

    Parameters
    ----------
    local_atom : int
        An atom that :func:`l2_access` reported as missed.
    woken : ndarray of int64
        Receives the waiters of the sector, in the order in which they came; ``waiters`` long.

    Returns
    -------
    int
        Number of waiters; 0 if nobody missed that atom, which then is not cached.
    """
    local_line, sector = local_atom >> _SECTOR_BITS, local_atom & (SECTORS - 1)
    index = l2_slice(state, ch, local_line)
    slice_ = state.slices[index]
    mshr = _mshr(state, index, local_line)
    bit = np.int64(1) << sector
    if mshr < 0 or not state.mshrs[index, mshr].pending & bit:
        return 0
    m = state.mshrs[index, mshr]
    m.pending &= ~bit
    count = 0
    waiter = m.first[sector]
    m.first[sector] = -1
    while waiter >= 0:
        w = state.waiters[index, waiter]
        following = w.next
        woken[count] = w.token
        count += 1
        w.next = slice_.free_waiter
        slice_.free_waiter = waiter
        waiter = following
    slice_.free_waiters += count
    if not m.pending:
        _free_mshr(state, index, mshr)

    where = _set(state, index, local_line)
    way = _way(state, where, local_line)
    if way < 0:
        way = 0
        for other in range(state.ways.shape[2]):
            if state.ways[where, _USED, other] < state.ways[where, _USED, way]:
                way = other
        slice_.clock += 1
        state.ways[where, _LINE, way] = local_line
        state.ways[where, _VALID, way] = 0
        state.ways[where, _USED, way] = slice_.clock
    state.ways[where, _VALID, way] |= bit
    return count
