"""Command scheduler of an HBM channel: FR-FCFS on the state of the channel in :mod:`.dram`.

Each cycle may issue one column command and one row command (HBM's two command buses), unless the
other pseudo-channel holds the bus.

- *Column*: the oldest request to an open row, in the current direction, whose timing allows it.
  Updates are writes. The direction stays while it has a request to an open row. It changes when
  only the other direction has such a request, or after ``turnaround_cap`` cycles of data while the
  other direction had one.
- *Row*: the oldest request in a closed bank (activate), or in a bank whose open row no queued
  request needs (precharge); see :mod:`.dram_rows`.
- *Write queue*, if there is one: writes are held back until ``write_high`` of them wait or no read
  waits; then reads are held back until ``write_low`` writes are left or none may be issued.
  Held-back requests get no command and keep no row open. With ``opening_leaves``, requests whose
  row was opened are served first, whichever side is held back, and keep their row open.
- *Order*: a request waits for every older request to the same atom.
- *Data*: with ``data_permille`` below 1000, a column command waits until the bus has been free for
  the rest of the time since the last pause, except for a few atoms.
- *Age*: once the oldest request of the queue has waited for ``age_cap`` cycles, its bank serves no
  younger request to another row, and the channel turns to its direction as soon as its row is open.
"""

import numpy as np

from sysmodel.lib.bits import trailing_zeros
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER

from .dram_queue import (
    NOTHING,
    PAGE_BITS,
    READS,
    SIDES,
    WRITES,
    bit_of,
    leave,
    older_of,
    oldest_in,
    pages_of,
    queued,
    served,
    side_of,
    wants_row,
)
from .dram_refresh import refresh
from .dram_rows import row_command

__all__ = ["DATA_SCALE_BITS", "schedule"]

DATA_SCALE_BITS = 10  # fraction bits of the time up to which data are paid


@compiled
def schedule(channels, ch, t, bus, now, allow_update):
    """Simulate one cycle of a channel with timing ``t``; return the issued token, or -1."""
    c = channels[ch]
    if now >= c.refresh_try:
        refresh(c, t, bus, now)
    if now >= c.starve_at:
        c.starve_at = NEVER
        c.starving = 1
        c.column_try = c.row_try = now
    if allow_update != c.allowed:
        c.allowed = allow_update
        c.column_try = now
    if t.write_queue:
        _hold_back(channels, ch, t, now)
    token = np.int64(-1)
    if t.opening_leaves:
        token = _opened_column(c, t, bus, now)
    if token < 0 and now >= c.column_try:
        token = _column(c, t, bus, now)
    if now >= c.row_try:
        row_command(c, t, bus, now)
    c.wake = min(min(c.column_try, c.row_try), min(c.starve_at, c.refresh_try))
    if t.opening_leaves:
        c.wake = now + 1
    return token


@compiled
def _hold_back(channels, ch, t, now):
    """Begin or end a drain, for all pseudo-channels that share a queue."""
    c, first = channels[ch], ch & -t.sharing
    pages = pages_of(c)
    reads = writes = False
    for one in range(first, first + t.sharing):
        other = channels[one]
        for page in range(pages):
            reads |= _waiting(other, page) != 0
            writes |= _waiting(other, pages + page) != 0
    _, level = queued(channels, first, t.sharing)
    if not reads:
        draining = writes
    elif not writes or not c.allowed:
        draining = False
    elif c.starving:
        draining = side_of(c, c.oldest) == WRITES
    elif channels[first].draining:
        draining = level > t.write_low
    else:
        draining = level >= t.write_high
    if draining == (c.draining != 0):
        return
    for one in range(first, first + t.sharing):
        _turn(channels[one], t, draining, now)


@inlined
def _waiting(c, page):
    """Requests of a page that count in the queue and may be issued."""
    return c.valid[page] & ~c.blocked[page] & ~c.opened[page]


@compiled
def _turn(c, t, draining, now):
    c.draining = draining
    first = pages_of(c) * (WRITES if draining else READS)
    c.busy = c.wanted = np.int64(0)
    for bank in range(t.banks):
        for page in range(first, first + pages_of(c)):
            if c.bank_slots[page, bank]:
                c.busy |= np.int64(1) << bank
        if wants_row(c, t, bank):
            c.wanted |= np.int64(1) << bank
    c.column_try = c.row_try = now


@compiled
def _opened_column(c, t, bus, now):
    """Issue the column command of the oldest request whose row was opened for it, if possible."""
    if bus.column_at == now:
        return np.int64(-1)
    slot, pages = NOTHING, pages_of(c)
    for page in range(SIDES * pages):
        writing = np.int64(page >= pages)
        if writing and (now < c.next_write or not c.allowed) or not writing and now < c.next_read:
            continue
        mask = c.opened[page] & c.hits[page] & ~c.blocked[page]
        if mask:
            mask, _ = _timely(c, t, writing, page, mask, now)
            if mask:
                slot = older_of(c, slot, oldest_in(c, page, mask))
    if slot < 0:
        return np.int64(-1)
    c.column_try = now + 1
    bus.column_at = now
    return _issue(c, t, now, slot)


@compiled
def _column(c, t, bus, now):
    starved, passed = NOTHING, NOTHING  # side of the starving request; bank that it keeps
    if c.starving and served(c, t, side_of(c, c.oldest)):
        page = c.oldest >> PAGE_BITS
        if c.hits[page] & ~c.blocked[page] & bit_of(c.oldest):
            starved = side_of(c, c.oldest)
        else:
            passed = c.slot_bank[c.oldest]
    pages = pages_of(c)
    reads = writes = np.int64(0)
    if not t.write_queue or not c.draining:
        for page in range(pages):
            reads |= _row_hits(c, page, passed)
    if c.allowed and (not t.write_queue or c.draining):
        for page in range(pages, 2 * pages):
            writes |= _row_hits(c, page, passed)
    writing = c.writing
    if t.write_queue:
        writing = c.draining
    elif reads and starved == READS:
        writing = np.int64(0)
    elif writes and starved == WRITES:
        writing = np.int64(1)
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
    if bus.column_at == now:
        c.column_try = now + 1
        return np.int64(-1)
    slot, earliest = _oldest_timely(c, t, writing, passed, now)
    if slot < 0:
        c.column_try = earliest
        return np.int64(-1)

    if writing != c.writing:
        c.writing = writing
        c.run = 0
    c.run = c.run + t.burst if others else 0
    c.column_try = now + 1
    bus.column_at = now
    return _issue(c, t, now, slot)


@inlined
def _row_hits(c, page, passed):
    """Requests to open rows that wait for no other request, outside of the bank ``passed``."""
    hits = c.hits[page] & ~c.blocked[page]
    if passed >= 0:
        hits &= ~c.bank_slots[page, passed]
    return hits


@inlined
def _oldest_timely(c, t, side, passed, now):
    """Choose the oldest row hit of a side whose timing allows a column command now, or none.

    Also returns the first cycle in which another one may be allowed.
    """
    slot, earliest = np.int64(NOTHING), NEVER
    first = pages_of(c) if side == WRITES else 0
    for page in range(first, first + pages_of(c)):
        mask = _row_hits(c, page, passed)
        if mask:
            mask, at = _timely(c, t, side, page, mask, now)
            earliest = min(earliest, at)
            if mask:
                slot = older_of(c, slot, oldest_in(c, page, mask))
    return slot, earliest


@compiled
def _timely(c, t, side, page, candidates, now):
    """Select the candidates of a page whose group, stack ID and bank allow a column command now.

    Also returns the first cycle in which another candidate may be allowed.
    """
    earliest = NEVER
    if c.next_stack > now:
        other = candidates & ~c.stack_slots[page, c.column_stack]
        if other:
            candidates &= ~other
            earliest = c.next_stack
    for group in range(t.bank_groups * t.stack_ids):
        at = c.group_column[group]
        if side == READS:
            at = max(at, c.group_read[group])
        if at > now and candidates & c.group_slots[page, group]:
            candidates &= ~c.group_slots[page, group]
            earliest = min(earliest, at)
    opening = c.opening
    while opening:
        bank = trailing_zeros(opening)
        opening &= opening - 1
        read_at = c.bank_opened[bank] + t.tRCD_RD
        write_at = c.bank_opened[bank] + t.tRCD_WR
        if now >= max(read_at, write_at):
            c.opening &= ~(np.int64(1) << bank)
        at = write_at if side == WRITES else read_at
        if at > now and candidates & c.bank_slots[page, bank]:
            candidates &= ~c.bank_slots[page, bank]
            earliest = min(earliest, at)
    return candidates, earliest


@compiled
def _issue(c, t, now, slot):
    bank = c.slot_bank[slot]
    stack = bank >> t.stack_shift
    group = stack * t.bank_groups + (bank & (t.bank_groups - 1))
    c.busy_cycles += t.burst
    if c.fresh & (np.int64(1) << bank):
        c.fresh &= ~(np.int64(1) << bank)
    else:
        c.row_hit_count += 1
    c.group_column[group] = now + t.tCCD_L
    c.next_stack = now + t.tCCD_R
    c.column_stack = stack
    if side_of(c, slot) == READS:
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
        if c.updates[(slot >> PAGE_BITS) - pages_of(c)] & bit_of(slot):
            c.update_count += 1
            c.group_column[group] = now + t.tCCD_WL
        else:
            c.write_count += 1
    c.bank_precharge[bank] = max(c.bank_precharge[bank], precharge)
    if t.data_cost:
        c.data_time = max(c.data_time, now << DATA_SCALE_BITS) + t.data_cost
        at = (c.data_time - t.data_credit) >> DATA_SCALE_BITS
        c.next_read, c.next_write = max(c.next_read, at), max(c.next_write, at)
    leave(c, t, now, slot, bank, group)
    if not wants_row(c, t, bank):
        c.wanted &= ~(np.int64(1) << bank)
        c.row_try = now
    return c.slot_token[slot]
