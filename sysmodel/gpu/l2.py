"""L2 slices: sectored sets with LRU replacement, and MSHRs that merge misses of a sector.

Each channel has its own slices. A line is allocated when the first of its missing sectors arrives,
or when one is written (``l2_write.py``). Accesses that bypass the L2 are not cached.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from sysmodel.lib.bits import popcount
from sysmodel.lib.compiled import compiled

from .atoms import LINE_ATOM_BITS, LINE_ATOMS
from .l2_tags import DIRTY, LINE, USED, VALID, allocate, find_way, l2_slice, set_of

__all__ = ["L2Parameters", "L2State", "l2_access", "l2_fill", "l2_holds", "new_l2"]

# Capacities of a slice's state.
MAX_MSHRS = 1024
MAX_WAITERS = 4096
_BUCKETS = 256

_SLICE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "sets",
            "set_bits",  # log2 of the power-of-two factor of sets
            "odd_sets",  # odd factor of sets
            "hits",
            "misses",
            "merges",
            "clock",
            "free_mshr",
            "free_waiter",
            "free_waiters",
        )
    ]
    + [
        ("buckets", np.int64, (_BUCKETS,)),  # first MSHR of each bucket
        ("mshr_line", np.int64, (MAX_MSHRS,)),
        ("mshr_pending", np.int64, (MAX_MSHRS,)),  # sectors
        ("mshr_next", np.int64, (MAX_MSHRS,)),  # next in the bucket or in the free list
        ("first_waiter", np.int64, (MAX_MSHRS * LINE_ATOMS,)),  # for each sector of each MSHR
        ("last_waiter", np.int64, (MAX_MSHRS * LINE_ATOMS,)),
        ("waiter_token", np.int64, (MAX_WAITERS,)),
        ("waiter_next", np.int64, (MAX_WAITERS,)),
    ],
    align=True,
)

_CHANNEL = np.dtype(
    [
        ("write_back_head", np.int64),
        ("write_backs", np.int64),
        ("taken", np.int64),  # sectors that the memory has taken
        ("flushed", np.int64),  # flushed sets
        ("flush_end", np.int64),  # number of taken sectors with which the flush ends
    ],
    align=True,
)


@dataclass(frozen=True, kw_only=True)
class L2Parameters:
    """Parameters of one channel's L2. A line has four sectors of one atom each.

    Parameters
    ----------
    slices : int
        Number of slices of a channel.
    sets, ways : int
        Geometry of a slice. The default is 256 KiB: 16 MiB over 32 channels with 2 slices each.
    mshrs : int
        Lines that a slice can miss at a time. The V100 of GPGPU-Sim has 192, with 4 merges each.
    waiters : int
        Waiting requests for missing sectors, over all MSHRs of a slice.

    Raises
    ------
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
        for name, most in (("mshrs", MAX_MSHRS), ("waiters", MAX_WAITERS)):
            if getattr(self, name) > most:
                raise ValueError(f"{name} must be at most {most}, not {getattr(self, name)!r}")
        if self.waiters < LINE_ATOMS:
            raise ValueError(
                f"waiters must be at least the {LINE_ATOMS} sectors of a line, not {self.waiters!r}"
            )


class L2State(NamedTuple):
    """State of the slices of all channels, slice *s* of channel *c* at ``c * slices + s``.

    ``slices`` and ``channels`` are structured arrays with one element for each slice and channel.
    The counters ``hits``, ``misses`` and ``merges`` of a slice count requested sectors.
    """

    slice_bits: int  # log2 of the power-of-two factor of a channel's slices
    odd_slices: int  # odd factor of a channel's slices
    slices: np.ndarray
    ways: np.ndarray  # slice and set, field, way
    channels: np.ndarray
    write_back: np.ndarray  # channel, place: dirty sectors for the memory, as atoms in the channel


def new_l2(parameters: L2Parameters, channels: int, write_back_queue: int = 1024) -> L2State:
    """Make empty slices.

    Reads wait while ``write_back_queue`` sectors of a channel wait for the memory, but each
    outstanding miss may still evict a line.

    Raises
    ------
    ValueError
        If there is no channel.
    """
    if channels < 1:
        raise ValueError(f"channels must be at least 1, not {channels!r}")
    p = parameters
    count = channels * p.slices
    ways = np.zeros((count * p.sets, DIRTY + 1, p.ways), np.int64)
    ways[:, LINE] = -1
    slices = np.zeros(count, _SLICE)
    even = p.sets & -p.sets
    slices["sets"], slices["odd_sets"] = p.sets, p.sets // even
    slices["set_bits"] = even.bit_length() - 1
    slices["free_waiters"] = p.waiters
    slices["buckets"] = -1
    slices["first_waiter"] = -1
    slices["mshr_next"][:, : p.mshrs] = np.append(np.arange(1, p.mshrs), -1)
    slices["waiter_next"][:, : p.waiters] = np.append(np.arange(1, p.waiters), -1)
    # A flush writes back a whole set at once.
    waiting = max(write_back_queue, LINE_ATOMS * p.ways) + LINE_ATOMS * (1 + p.slices * p.mshrs)
    write_back = np.zeros((channels, 1 << waiting.bit_length()), np.int64)
    power = p.slices & -p.slices
    return L2State(
        power.bit_length() - 1,
        p.slices // power,
        slices,
        ways,
        np.zeros(channels, _CHANNEL),
        write_back,
    )


@compiled
def _mshr(s, local_line):
    mshr = s.buckets[local_line & (_BUCKETS - 1)]
    while mshr >= 0 and s.mshr_line[mshr] != local_line:
        mshr = s.mshr_next[mshr]
    return mshr


@compiled
def l2_access(
    state: L2State, ch: int, local_line: int, sector_mask: int, waiter: int
) -> tuple[int, int, int, bool]:
    """Read sectors of a line.

    Parameters
    ----------
    local_line : int
        Atom address in the channel, divided by four.
    sector_mask : int
        Requested sectors, bit *i* for atom ``4 * local_line + i``.
    waiter : int
        Token that :func:`l2_fill` returns once for each sector that is not a hit.

    Returns
    -------
    hits, misses, merged : int
        Masks of present sectors, of sectors that the caller must read from the memory, and of
        sectors for which an earlier miss is outstanding. Their union is ``sector_mask``.
    ok : bool
        False if MSHRs or waiters are exhausted. The state is then unchanged, all masks are 0, and
        the caller retries later.
    """
    index = l2_slice(state, ch, local_line)
    where = set_of(state, index, local_line)
    s = state.slices[index]
    way = find_way(state.ways, where, local_line)
    hits = np.int64(0)
    if way >= 0:
        hits = state.ways[where, VALID, way] & sector_mask
    missing = sector_mask & ~hits
    merged = _miss(s, local_line, missing, waiter) if missing else np.int64(0)
    if merged < 0:
        return np.int64(0), np.int64(0), np.int64(0), False
    if way >= 0:
        s.clock += 1
        state.ways[where, USED, way] = s.clock
    misses = missing & ~merged
    s.hits += popcount(hits)
    s.misses += popcount(misses)
    s.merges += popcount(merged)
    return hits, misses, merged, True


@compiled
def l2_holds(state: L2State, ch: int, local_atom: int) -> bool:
    """Return True if a sector is present; the lookup changes no state."""
    local_line, sector = local_atom >> LINE_ATOM_BITS, local_atom & (LINE_ATOMS - 1)
    where = set_of(state, l2_slice(state, ch, local_line), local_line)
    way = find_way(state.ways, where, local_line)
    return bool(way >= 0 and state.ways[where, VALID, way] >> sector & 1)


@compiled
def _miss(s, local_line, missing, waiter):
    """Register a miss; return the sectors with an outstanding miss, or -1 without free entries."""
    mshr = _mshr(s, local_line)
    if s.free_waiters < popcount(missing) or (mshr < 0 and s.free_mshr < 0):
        return np.int64(-1)
    if mshr < 0:
        mshr = s.free_mshr
        s.free_mshr = s.mshr_next[mshr]
        bucket = local_line & (_BUCKETS - 1)
        s.mshr_line[mshr] = local_line
        s.mshr_pending[mshr] = 0
        s.mshr_next[mshr] = s.buckets[bucket]
        s.buckets[bucket] = mshr
    merged = missing & s.mshr_pending[mshr]
    s.mshr_pending[mshr] |= missing
    for sector in range(LINE_ATOMS):
        if missing >> sector & 1:
            _wait(s, mshr << LINE_ATOM_BITS | sector, waiter)
    return merged


@compiled
def _wait(s, queue, token):
    waiter = s.free_waiter
    s.free_waiter = s.waiter_next[waiter]
    s.free_waiters -= 1
    s.waiter_token[waiter] = token
    s.waiter_next[waiter] = -1
    if s.first_waiter[queue] < 0:
        s.first_waiter[queue] = waiter
    else:
        s.waiter_next[s.last_waiter[queue]] = waiter
    s.last_waiter[queue] = waiter


@compiled
def _wake(s, queue, woken):
    count = 0
    waiter = s.first_waiter[queue]
    s.first_waiter[queue] = -1
    while waiter >= 0:
        following = s.waiter_next[waiter]
        woken[count] = s.waiter_token[waiter]
        count += 1
        s.waiter_next[waiter] = s.free_waiter
        s.free_waiter = waiter
        waiter = following
    s.free_waiters += count
    return count


@compiled
def _free_mshr(s, mshr):
    bucket = s.mshr_line[mshr] & (_BUCKETS - 1)
    before = s.buckets[bucket]
    if before == mshr:
        s.buckets[bucket] = s.mshr_next[mshr]
    else:
        while s.mshr_next[before] != mshr:
            before = s.mshr_next[before]
        s.mshr_next[before] = s.mshr_next[mshr]
    s.mshr_next[mshr] = s.free_mshr
    s.free_mshr = mshr


@compiled
def l2_fill(state: L2State, ch: int, local_atom: int, woken: np.ndarray) -> int:
    """Fill a missed sector; a new line evicts the least recently used one.

    Dirty sectors of the evicted line are queued for the memory, beyond any limit.

    Parameters
    ----------
    local_atom : int
        Atom that :func:`l2_access` reported as missed.
    woken : ndarray of int64
        Array of length ``waiters`` that receives the sector's waiters in order of arrival.

    Returns
    -------
    int
        Number of waiters; 0 if the atom has no outstanding miss and is not cached.
    """
    local_line, sector = local_atom >> LINE_ATOM_BITS, local_atom & (LINE_ATOMS - 1)
    index = l2_slice(state, ch, local_line)
    s = state.slices[index]
    mshr = _mshr(s, local_line)
    bit = np.int64(1) << sector
    if mshr < 0 or not s.mshr_pending[mshr] & bit:
        return 0
    count = _wake(s, mshr << LINE_ATOM_BITS | sector, woken)
    s.mshr_pending[mshr] &= ~bit
    if not s.mshr_pending[mshr]:
        _free_mshr(s, mshr)

    where = set_of(state, index, local_line)
    way = find_way(state.ways, where, local_line)
    if way < 0:
        way = allocate(state, ch, where, local_line)
    state.ways[where, VALID, way] |= bit
    return count
