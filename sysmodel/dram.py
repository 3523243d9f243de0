"""HBM channels: banks, bank groups, a bounded FR-FCFS queue and its command scheduler.

A request sits in one of up to 64 slots, and sets of slots are 64-bit masks: the slots of a bank, of
a group, the reads, those whose row is open. A cycle's choice is a few ands, then a search for the
oldest in the mask through ``slot_older``, the mask of the slots that were taken when a slot was
filled. Whatever cannot happen before a known cycle is not looked at until then (``wake``).

Scheduling. Each cycle may issue one column command and one row command (HBM's two command buses).

- *Column*: the oldest request to an open row, in the current direction, whose timing allows it.
  Updates are writes. The direction is kept while it has a request to an open row. It changes when
  it has none and the other has one, or after ``turnaround_cap`` cycles of data while the other had.
- *Row*: the oldest request in a closed bank (activate) or in a bank whose open row nobody in the
  queue wants (precharge).
- *Order*: a request to the atom of an older one waits for it, whatever the two are.
- *Age*: once the oldest request of the queue has waited for ``age_cap`` cycles, its bank serves no
  younger one to another row, and the channel turns to its direction as soon as its row is open.
- *Refresh*: when due, no command goes to the banks concerned; they are precharged as soon as
  they may be, and closed for ``tRFC``.
"""

from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numba import njit

from .bits import trailing_zeros
from .dram_timing import MAX_BANKS, MAX_GROUPS, MAX_QUEUE, DramTiming

__all__ = [
    "READ",
    "UPDATE",
    "WRITE",
    "DramState",
    "dram_level",
    "dram_place",
    "dram_push",
    "dram_step",
    "new_dram",
]

READ, WRITE, UPDATE = range(3)

NEVER = np.int64(1) << 62
_FILTER = 256

_TIMING = np.dtype(
    [(field.name, np.int64) for field in fields(DramTiming) if field.name != "refresh"]
    + [(name, np.int64) for name in ("per_bank", "column_bits", "bank_bits", "slots")]
)

_SCALARS = (
    # Sets of slots.
    "valid",
    "reads",
    "updates",
    "hits",  # their row is open
    "blocked",  # an older request to the same atom is in the queue
    # Sets of banks.
    "busy",  # has a request
    "open",
    "wanted",  # has a request to its open row
    "opening",  # activated, column commands perhaps not yet allowed
    "fresh",  # no column command since the activate
    # The queue and its scheduler.
    "level",
    "oldest",
    "starving",
    "starve_at",
    "writing",
    "run",
    "allowed",
    # Earliest cycle of a column command, of a row command and of either.
    "column_try",
    "row_try",
    "wake",
    # Earliest command, as the whole channel restricts it.
    "next_read",
    "next_write",
    "next_activate",
    "activated",
    "refresh_due",
    "refresh_bank",
    # Counters.
    "read_count",
    "write_count",
    "update_count",
    "activate_count",
    "row_hit_count",
    "busy_cycles",
    "occupancy_sum",
)

_CHANNEL = np.dtype(
    [(name, np.int64) for name in _SCALARS]
    + [("last_activates", np.int64, (4,))]
    + [
        (f"group_{name}", np.int64, (MAX_GROUPS,))
        for name in ("slots", "column", "read", "activate")
    ]
    + [
        (f"bank_{name}", np.int64, (MAX_BANKS,))
        for name in ("slots", "row", "opened", "activate", "precharge")
    ]
    + [
        (f"slot_{name}", np.int64, (MAX_QUEUE,))
        for name in ("atom", "token", "arrival", "row", "bank", "older", "waits")
    ]
    # How many requests have an atom with these low bits: nearly always none, which spares a search.
    + [("atoms", np.int64, (_FILTER,))],
    align=True,
)


class DramState(NamedTuple):
    """All channels of a system.

    ``channel`` is a structured array with one element for each. Its counters, from the start:
    ``read_count``, ``write_count``, ``update_count``, ``activate_count``, ``row_hit_count`` (column
    commands that needed no activate of their own), ``busy_cycles`` of the data bus, and
    ``occupancy_sum``, the queue's level added up over the cycles. ``timing`` has one element.
    """

    timing: np.ndarray
    channel: np.ndarray


def new_dram(timing: DramTiming, channels: int) -> DramState:
    """Channels with empty queues and closed banks.

    Raises
    ------
    ValueError
        If there is no channel.
    """
    if channels < 1:
        raise ValueError(f"channels must be at least 1, not {channels!r}")
    t = np.zeros(1, _TIMING)
    for field in fields(timing):
        if field.name != "refresh":
            t[field.name] = getattr(timing, field.name)
    t["per_bank"] = timing.refresh == "per-bank"
    t["column_bits"] = timing.columns.bit_length() - 1
    t["bank_bits"] = timing.banks.bit_length() - 1
    t["slots"] = np.uint64((1 << timing.queue_depth) - 1).astype(np.int64)
    c = np.zeros(channels, _CHANNEL)
    c["bank_row"] = -1
    c["last_activates"] = -NEVER
    c["starve_at"] = NEVER
    c["refresh_due"] = timing.tREFI if timing.refresh != "none" else NEVER
    return DramState(t, c)


@njit(cache=True)
def dram_place(state: DramState, local_atom: int) -> tuple[int, int, int]:
    """Row, bank and column of an atom address in a channel."""
    t = state.timing[0]
    column = local_atom & ((1 << t.low_column_bits) - 1)
    rest = local_atom >> t.low_column_bits
    bank = rest & ((1 << t.low_bank_bits) - 1)
    rest >>= t.low_bank_bits
    high_bits = t.column_bits - t.low_column_bits
    column |= (rest & ((1 << high_bits) - 1)) << t.low_column_bits
    rest >>= high_bits
    high_bits = t.bank_bits - t.low_bank_bits
    bank |= (rest & ((1 << high_bits) - 1)) << t.low_bank_bits
    return rest >> high_bits, bank, column


@njit(cache=True)
def dram_level(state: DramState, ch: int) -> int:
    """Requests in the queue."""
    return state.channel[ch].level


@njit(cache=True)
def dram_push(state: DramState, ch: int, now: int, access: int, local_atom: int, token: int):
    """Enters a request, which the caller may do only while the level is below ``queue_depth``.

    The scheduler sees it in the next :func:`dram_step`, that of the same cycle if that comes later.

    Parameters
    ----------
    access : int
        ``READ``, ``WRITE`` or ``UPDATE``.
    local_atom : int
        Atom address in the channel.
    token : int
        At least 0; :func:`dram_step` returns it.
    """
    c = state.channel[ch]
    row, bank, _ = dram_place(state, local_atom)
    slot = trailing_zeros(~c.valid & state.timing[0].slots)
    bit = np.int64(1) << slot
    waits = np.int64(0)
    low = local_atom & (_FILTER - 1)
    if c.atoms[low]:
        others = c.bank_slots[bank]
        while others:
            other = trailing_zeros(others)
            others &= others - 1
            if c.slot_atom[other] == local_atom:
                waits |= np.int64(1) << other
    c.atoms[low] += 1
    c.slot_atom[slot] = local_atom
    c.slot_token[slot] = token
    c.slot_arrival[slot] = now
    c.slot_row[slot] = row
    c.slot_bank[slot] = bank
    c.slot_older[slot] = c.valid
    c.slot_waits[slot] = waits
    if c.level == 0:
        c.oldest = slot
        c.starve_at = now + state.timing[0].age_cap
    c.level += 1
    c.valid |= bit
    c.bank_slots[bank] |= bit
    c.group_slots[bank & (state.timing[0].bank_groups - 1)] |= bit
    if access == READ:
        c.reads |= bit
    elif access == UPDATE:
        c.updates |= bit
    if waits:
        c.blocked |= bit
    if c.bank_row[bank] == row:
        c.hits |= bit
        c.wanted |= np.int64(1) << bank
        c.column_try = c.wake = now
    elif not c.busy & (np.int64(1) << bank):
        c.row_try = c.wake = now
    c.busy |= np.int64(1) << bank


@njit(cache=True)
def dram_step(state: DramState, ch: int, now: int, allow_update: bool) -> int:
    """One cycle of a channel; at most one column command is issued.

    A write's or an update's effect, and what a read sees, are those of the cycle of the column
    command; a read's data are there ``DramTiming.read_latency`` cycles later.

    Parameters
    ----------
    allow_update : bool
        Whether a write or an update may be issued: there is room for its notice.

    Returns
    -------
    int
        The token of the request whose column command is issued; -1 if none is.
    """
    c = state.channel[ch]
    c.occupancy_sum += c.level
    if now < c.wake and allow_update == c.allowed:
        return -1
    return _schedule(c, state.timing[0], now, allow_update)


@njit(cache=True)
def _schedule(c, t, now, allow_update):
    while now >= c.refresh_due:
        _refresh(c, t)
    if now >= c.starve_at:
        c.starve_at = NEVER
        c.starving = 1
        c.column_try = c.row_try = now
    if allow_update != c.allowed:
        c.allowed = allow_update
        c.column_try = now
    token = np.int64(-1)
    if now >= c.column_try:
        token = _column(c, t, now)
    if now >= c.row_try:
        _row(c, t, now)
    c.wake = min(c.column_try, c.row_try, c.starve_at, c.refresh_due)
    return token


@njit(cache=True)
def _oldest(c, mask):
    slot = trailing_zeros(mask)
    older = c.slot_older[slot] & mask
    while older:
        slot = trailing_zeros(older)
        older = c.slot_older[slot] & mask
    return slot


@njit(cache=True)
def _column(c, t, now):
    hits = c.hits & ~c.blocked
    starved = np.int64(0)
    if c.starving:
        starved = np.int64(1) << c.oldest
        if not hits & starved:
            hits &= ~c.bank_slots[c.slot_bank[c.oldest]]
    reads = hits & c.reads
    writes = hits & ~c.reads if c.allowed else np.int64(0)
    writing = c.writing
    if (reads | writes) & starved:
        writing = np.int64(0) if reads & starved else np.int64(1)
    elif writing:
        if reads and (not writes or c.run >= t.turnaround_cap):
            writing = np.int64(0)
    elif writes and (not reads or c.run >= t.turnaround_cap):
        writing = np.int64(1)

    candidates, others = (writes, reads) if writing else (reads, writes)
    if not candidates:
        c.column_try = NEVER
        return np.int64(-1)
    earliest = c.next_write if writing else c.next_read
    if earliest > now:
        c.column_try = earliest
        return np.int64(-1)
    earliest = NEVER
    for group in range(t.bank_groups):
        at = c.group_column[group]
        if not writing:
            at = max(at, c.group_read[group])
        if at > now and candidates & c.group_slots[group]:
            candidates &= ~c.group_slots[group]
            earliest = min(earliest, at)
    opening = c.opening
    while opening:
        bank = trailing_zeros(opening)
        opening &= opening - 1
        read_at = c.bank_opened[bank] + t.tRCD_RD
        write_at = c.bank_opened[bank] + t.tRCD_WR
        if now >= max(read_at, write_at):
            c.opening &= ~(np.int64(1) << bank)
        at = write_at if writing else read_at
        if at > now and candidates & c.bank_slots[bank]:
            candidates &= ~c.bank_slots[bank]
            earliest = min(earliest, at)
    if not candidates:
        c.column_try = earliest
        return np.int64(-1)

    slot = _oldest(c, candidates)
    if writing != c.writing:
        c.writing = writing
        c.run = 0
    c.run = c.run + t.burst if others else 0
    c.column_try = now + 1
    return _issue(c, t, now, slot)


@njit(cache=True)
def _issue(c, t, now, slot):
    bit = np.int64(1) << slot
    bank = c.slot_bank[slot]
    group = bank & (t.bank_groups - 1)
    c.busy_cycles += t.burst
    if c.fresh & (np.int64(1) << bank):
        c.fresh &= ~(np.int64(1) << bank)
    else:
        c.row_hit_count += 1
    c.group_column[group] = now + t.tCCD_L
    if c.reads & bit:
        c.read_count += 1
        c.next_read = now + t.tCCD_S
        c.next_write = now + t.tRTW
        precharge = now + t.tRTP
    else:
        end = now + t.tCWL + t.burst
        c.next_write = now + t.tCCD_S
        c.next_read = max(end + t.tWTR_S, now + t.tCCD_S)
        c.group_read[group] = end + t.tWTR_L
        precharge = end + t.tWR
        if c.updates & bit:
            c.update_count += 1
            c.group_column[group] = now + t.tCCD_WL
        else:
            c.write_count += 1
    c.bank_precharge[bank] = max(c.bank_precharge[bank], precharge)
    _leave(c, t, slot, bank, group)
    if not c.bank_slots[bank] & c.hits:
        c.wanted &= ~(np.int64(1) << bank)
        c.row_try = now
    return c.slot_token[slot]


@njit(cache=True)
def _leave(c, t, slot, bank, group):
    keep = ~(np.int64(1) << slot)
    c.valid &= keep
    c.reads &= keep
    c.updates &= keep
    c.hits &= keep
    c.group_slots[group] &= keep
    c.bank_slots[bank] &= keep
    if not c.bank_slots[bank]:
        c.busy &= ~(np.int64(1) << bank)
    c.atoms[c.slot_atom[slot] & (_FILTER - 1)] -= 1
    for other in range(MAX_QUEUE):
        c.slot_older[other] &= keep
    blocked = c.blocked
    while blocked:
        other = trailing_zeros(blocked)
        blocked &= blocked - 1
        c.slot_waits[other] &= keep
        if not c.slot_waits[other]:
            c.blocked &= ~(np.int64(1) << other)
    c.level -= 1
    if slot == c.oldest:
        c.starving = 0
        c.starve_at = NEVER
        if c.valid:
            c.oldest = _oldest(c, c.valid)
            c.starve_at = c.slot_arrival[c.oldest] + t.age_cap


@njit(cache=True)
def _row(c, t, now):
    unwanted = c.busy & c.open & ~c.wanted
    if c.starving and not c.hits & (np.int64(1) << c.oldest):
        unwanted |= c.open & (np.int64(1) << c.slot_bank[c.oldest])
    candidates = np.int64(0)
    earliest = NEVER
    closed = c.busy & ~c.open
    if closed and c.next_activate > now:
        earliest = c.next_activate
        closed = np.int64(0)
    while closed:
        bank = trailing_zeros(closed)
        closed &= closed - 1
        at = max(c.bank_activate[bank], c.group_activate[bank & (t.bank_groups - 1)])
        if at <= now:
            candidates |= c.bank_slots[bank]
        else:
            earliest = min(earliest, at)
    while unwanted:
        bank = trailing_zeros(unwanted)
        unwanted &= unwanted - 1
        if c.bank_precharge[bank] <= now:
            candidates |= c.bank_slots[bank]
        else:
            earliest = min(earliest, c.bank_precharge[bank])
    if not candidates:
        c.row_try = earliest
        return
    slot = _oldest(c, candidates)
    bank = c.slot_bank[slot]
    c.row_try = now + 1 if candidates & ~c.bank_slots[bank] else earliest
    if c.open & (np.int64(1) << bank):
        c.open &= ~(np.int64(1) << bank)
        c.wanted &= ~(np.int64(1) << bank)
        # Younger requests to the closed row remain when the oldest one of the queue is starving.
        c.hits &= ~c.bank_slots[bank]
        c.bank_row[bank] = -1
        c.bank_activate[bank] = now + t.tRP
        c.row_try = min(c.row_try, now + t.tRP)
    else:
        _activate(c, t, now, bank, c.slot_row[slot])


@njit(cache=True)
def _activate(c, t, now, bank, row):
    bit = np.int64(1) << bank
    c.open |= bit
    c.wanted |= bit
    c.opening |= bit
    c.fresh |= bit
    c.bank_row[bank] = row
    c.bank_opened[bank] = now
    c.bank_precharge[bank] = now + t.tRAS
    c.group_activate[bank & (t.bank_groups - 1)] = now + t.tRRD_L
    c.last_activates[c.activated] = now
    c.activated = (c.activated + 1) & 3
    c.next_activate = max(now + t.tRRD_S, c.last_activates[c.activated] + t.tFAW)
    c.activate_count += 1
    c.column_try = now + 1
    slots = c.bank_slots[bank]
    while slots:
        slot = trailing_zeros(slots)
        slots &= slots - 1
        if c.slot_row[slot] == row:
            c.hits |= np.int64(1) << slot


@njit(cache=True)
def _refresh(c, t):
    first, end = np.int64(0), t.banks
    if t.per_bank:
        first, end = c.refresh_bank, c.refresh_bank + 1
        c.refresh_bank = end % t.banks
    start = c.refresh_due
    for bank in range(first, end):
        if c.open & (np.int64(1) << bank):
            start = max(start, max(c.refresh_due, c.bank_precharge[bank]) + t.tRP)
        else:
            start = max(start, c.bank_activate[bank])
    for bank in range(first, end):
        closed = ~(np.int64(1) << bank)
        c.open &= closed
        c.wanted &= closed
        c.hits &= ~c.bank_slots[bank]
        c.bank_row[bank] = -1
        c.bank_activate[bank] = start + t.tRFC
    c.row_try = c.column_try = c.refresh_due
    c.refresh_due += t.tREFI
