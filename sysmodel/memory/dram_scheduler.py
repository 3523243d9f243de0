"""Command scheduler of an HBM channel: FR-FCFS on the channel's state, which is :mod:`.dram`'s.

Each cycle may issue one column command and one row command (HBM's two command buses).

- *Column*: the oldest request to an open row, in the current direction, whose timing allows it.
  Updates are writes. The direction is kept while it has a request to an open row. It changes when
  it has none and the other has one, or after ``turnaround_cap`` cycles of data while the other had.
- *Row*: the oldest request in a closed bank (activate) or in a bank whose open row nobody in the
  queue wants (precharge).
- *Write queue*, if there is one: writes are held back until ``write_high`` of them wait, or no
  read does; then reads are, until ``write_low`` writes are left or none may be issued. What is held
  back gets no command and keeps no row open.
- *Order*: a request to the atom of an older one waits for it, whatever the two are.
- *Age*: once the oldest request of the queue has waited for ``age_cap`` cycles, its bank serves no
  younger one to another row, and the channel turns to its direction as soon as its row is open.
- *Refresh*: when due, no command goes to the banks concerned; they are precharged as soon as
  they may be, and closed for ``tRFC``.
"""

import numpy as np

from sysmodel.config.dram_timing import MAX_QUEUE
from sysmodel.lib.bits import trailing_zeros
from sysmodel.lib.compiled import compiled

__all__ = ["ATOM_FILTER", "NEVER", "schedule", "served"]

NEVER = np.int64(1) << 62

# Values of the low address bits that are counted, to spare the search for an equal atom.
ATOM_FILTER = 256


@compiled
def schedule(c, t, now, allow_update):
    """One cycle of channel `c` with timing `t`: the token whose column command is issued, or -1."""
    while now >= c.refresh_due:
        _refresh(c, t)
    if now >= c.starve_at:
        c.starve_at = NEVER
        c.starving = 1
        c.column_try = c.row_try = now
    if allow_update != c.allowed:
        c.allowed = allow_update
        c.column_try = now
    if t.write_queue:
        _hold_back(c, t, now)
    token = np.int64(-1)
    if now >= c.column_try:
        token = _column(c, t, now)
    if now >= c.row_try:
        _row(c, t, now)
    c.wake = min(c.column_try, c.row_try, c.starve_at, c.refresh_due)
    return token


@compiled
def served(c, t):
    """The slots that are not held back."""
    if not t.write_queue:
        return np.int64(-1)
    return ~c.reads if c.draining else c.reads


@compiled
def _hold_back(c, t, now):
    reads = c.reads & ~c.blocked
    writes = c.valid & ~c.reads & ~c.blocked
    if not reads:
        draining = writes != 0
    elif not writes or not c.allowed:
        draining = False
    elif c.starving:
        draining = c.reads & (np.int64(1) << c.oldest) == 0
    elif c.draining:
        draining = c.write_level > t.write_low
    else:
        draining = c.write_level >= t.write_high
    if draining == (c.draining != 0):
        return
    c.draining = draining
    slots = served(c, t)
    c.busy = c.wanted = np.int64(0)
    for bank in range(t.banks):
        if c.bank_slots[bank] & slots:
            c.busy |= np.int64(1) << bank
        if c.bank_slots[bank] & slots & c.hits:
            c.wanted |= np.int64(1) << bank
    c.column_try = c.row_try = now


@compiled
def _oldest(c, mask):
    slot = trailing_zeros(mask)
    older = c.slot_older[slot] & mask
    while older:
        slot = trailing_zeros(older)
        older = c.slot_older[slot] & mask
    return slot


@compiled
def _column(c, t, now):
    slots = served(c, t)
    hits = c.hits & ~c.blocked & slots
    starved = np.int64(0)
    if c.starving and slots & (np.int64(1) << c.oldest):
        starved = np.int64(1) << c.oldest
        if not hits & starved:
            hits &= ~c.bank_slots[c.slot_bank[c.oldest]]
    reads = hits & c.reads
    writes = hits & ~c.reads if c.allowed else np.int64(0)
    writing = c.writing
    if t.write_queue:
        writing = c.draining
    elif (reads | writes) & starved:
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


@compiled
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
    if not c.bank_slots[bank] & c.hits & served(c, t):
        c.wanted &= ~(np.int64(1) << bank)
        c.row_try = now
    return c.slot_token[slot]


@compiled
def _leave(c, t, slot, bank, group):
    keep = ~(np.int64(1) << slot)
    if not c.reads & ~keep:
        c.write_level -= 1
    c.valid &= keep
    c.reads &= keep
    c.updates &= keep
    c.hits &= keep
    c.group_slots[group] &= keep
    c.bank_slots[bank] &= keep
    if not c.bank_slots[bank] & served(c, t):
        c.busy &= ~(np.int64(1) << bank)
    c.atoms[c.slot_atom[slot] & (ATOM_FILTER - 1)] -= 1
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


@compiled
def _row(c, t, now):
    slots = served(c, t)
    unwanted = c.busy & c.open & ~c.wanted
    if c.starving and slots & ~c.hits & (np.int64(1) << c.oldest):
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
            candidates |= c.bank_slots[bank] & slots
        else:
            earliest = min(earliest, at)
    while unwanted:
        bank = trailing_zeros(unwanted)
        unwanted &= unwanted - 1
        if c.bank_precharge[bank] <= now:
            candidates |= c.bank_slots[bank] & slots
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
        # Requests to the closed row remain: what is held back, and younger ones when the oldest of
        # all is starving.
        c.hits &= ~c.bank_slots[bank]
        c.bank_row[bank] = -1
        c.bank_activate[bank] = now + t.tRP
        c.row_try = min(c.row_try, now + t.tRP)
    else:
        _activate(c, t, now, bank, c.slot_row[slot])


@compiled
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


@compiled
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
        c.hits &= ~c.bank_slots[bank]
        c.bank_row[bank] = -1
        c.bank_activate[bank] = start + t.tRFC
    c.row_try = c.column_try = c.refresh_due
    c.refresh_due += t.tREFI
