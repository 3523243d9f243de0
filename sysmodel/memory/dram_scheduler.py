"""Command scheduler of an HBM channel: FR-FCFS on the state of the channel in :mod:`.dram`.

Each cycle may issue one column command and one row command (HBM's two command buses), unless the
other pseudo-channel holds the bus.

- *Column*: the oldest request to an open row, in the current direction, whose timing allows it.
  Updates are writes. The direction stays while it has a request to an open row. It changes when
  only the other direction has such a request, or after ``turnaround_cap`` cycles of data while the
  other direction had one.
- *Row*: the oldest request in a closed bank (activate), or in a bank whose open row no queued
  request needs (precharge).
- *Write queue*, if there is one: writes are held back until ``write_high`` of them wait or no read
  waits; then reads are held back until ``write_low`` writes are left or none may be issued.
  Held-back requests get no command and keep no row open.
- *Order*: a request waits for every older request to the same atom.
- *Age*: once the oldest request of the queue has waited for ``age_cap`` cycles, its bank serves no
  younger request to another row, and the channel turns to its direction as soon as its row is open.
"""

import numpy as np

from sysmodel.config.dram_timing import MAX_SIDE
from sysmodel.lib.bits import trailing_zeros
from sysmodel.lib.compiled import compiled
from sysmodel.lib.cycles import NEVER

from .dram_refresh import refresh

__all__ = [
    "ATOM_FILTER",
    "NEVER",
    "READS",
    "SIDES",
    "SIDE_BITS",
    "WRITES",
    "queued",
    "schedule",
    "served",
]

# Sides of the queue: a slot number consists of the side and the bit in the side's masks.
READS, WRITES = 0, 1
SIDES = 2
SIDE_BITS = 6
_IN_SIDE = MAX_SIDE - 1

# Number of counted values of the low address bits; the counts save the search for an equal atom.
ATOM_FILTER = 256


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
    if now >= c.column_try:
        token = _column(c, t, bus, now)
    if now >= c.row_try:
        _row(c, t, bus, now)
    c.wake = min(min(c.column_try, c.row_try), min(c.starve_at, c.refresh_try))
    return token


@compiled
def served(c, t, side):
    """Return True unless a side is held back."""
    return not t.write_queue or (c.draining != 0) == (side == WRITES)


@compiled
def queued(channels, first, sharing):
    """Count the requests, and the writes among them, in a queue that ``sharing`` channels share."""
    level = writes = np.int64(0)
    for one in range(first, first + sharing):
        level += channels[one].level - channels[one].left
        writes += channels[one].write_level - channels[one].write_left
    return level, writes


@compiled
def _hold_back(channels, ch, t, now):
    """Begin or end a drain, for all pseudo-channels that share a queue."""
    c, first = channels[ch], ch & -t.sharing
    reads = writes = False
    for one in range(first, first + t.sharing):
        other = channels[one]
        reads |= other.valid[READS] & ~other.blocked[READS] != 0
        writes |= other.valid[WRITES] & ~other.blocked[WRITES] != 0
    _, level = queued(channels, first, t.sharing)
    if not reads:
        draining = writes
    elif not writes or not c.allowed:
        draining = False
    elif c.starving:
        draining = c.oldest >> SIDE_BITS == WRITES
    elif channels[first].draining:
        draining = level > t.write_low
    else:
        draining = level >= t.write_high
    if draining == (c.draining != 0):
        return
    for one in range(first, first + t.sharing):
        _turn(channels[one], t, draining, now)


@compiled
def _turn(c, t, draining, now):
    c.draining = draining
    side = WRITES if draining else READS
    c.busy = c.wanted = np.int64(0)
    for bank in range(t.banks):
        if c.bank_slots[side, bank]:
            c.busy |= np.int64(1) << bank
            if c.bank_slots[side, bank] & c.hits[side]:
                c.wanted |= np.int64(1) << bank
    c.column_try = c.row_try = now


@compiled
def _oldest(c, side, mask):
    base = side << SIDE_BITS
    slot = trailing_zeros(mask)
    older = c.slot_older[base + slot] & mask
    while older:
        slot = trailing_zeros(older)
        older = c.slot_older[base + slot] & mask
    return base + slot


@compiled
def _oldest_of_both(c, reads, writes):
    if not writes:
        return _oldest(c, READS, reads)
    write = _oldest(c, WRITES, writes)
    if not reads:
        return write
    read = _oldest(c, READS, reads)
    return read if c.slot_number[read] < c.slot_number[write] else write


@compiled
def _bit(slot):
    return np.int64(1) << (slot & _IN_SIDE)


@compiled
def _column(c, t, bus, now):
    reads = c.hits[READS] & ~c.blocked[READS]
    writes = c.hits[WRITES] & ~c.blocked[WRITES]
    if t.write_queue:
        if c.draining:
            reads = np.int64(0)
        else:
            writes = np.int64(0)
    starved_read = starved_write = np.int64(0)
    if c.starving and served(c, t, c.oldest >> SIDE_BITS):
        if c.oldest >> SIDE_BITS == READS:
            starved_read = _bit(c.oldest)
        else:
            starved_write = _bit(c.oldest)
        if not (reads & starved_read or writes & starved_write):
            bank = c.slot_bank[c.oldest]
            reads &= ~c.bank_slots[READS, bank]
            writes &= ~c.bank_slots[WRITES, bank]
    if not c.allowed:
        writes = np.int64(0)
    writing = c.writing
    if t.write_queue:
        writing = c.draining
    elif reads & starved_read:
        writing = np.int64(0)
    elif writes & starved_write:
        writing = np.int64(1)
    elif writing:
        if reads and (not writes or c.run >= t.turnaround_cap):
            writing = np.int64(0)
    elif writes and (not reads or c.run >= t.turnaround_cap):
        writing = np.int64(1)

    side = WRITES if writing else READS
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
    candidates, earliest = _timely(c, t, side, candidates, now)
    if not candidates:
        c.column_try = earliest
        return np.int64(-1)

    slot = _oldest(c, side, candidates)
    if writing != c.writing:
        c.writing = writing
        c.run = 0
    c.run = c.run + t.burst if others else 0
    c.column_try = now + 1
    bus.column_at = now
    return _issue(c, t, now, slot)


@compiled
def _timely(c, t, side, candidates, now):
    """Select the candidates whose group, stack ID and bank allow a column command now.

    Also returns the first cycle in which another candidate may be allowed.
    """
    earliest = NEVER
    if c.next_stack > now:
        other = candidates & ~c.stack_slots[side, c.column_stack]
        if other:
            candidates &= ~other
            earliest = c.next_stack
    for group in range(t.bank_groups * t.stack_ids):
        at = c.group_column[group]
        if side == READS:
            at = max(at, c.group_read[group])
        if at > now and candidates & c.group_slots[side, group]:
            candidates &= ~c.group_slots[side, group]
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
        if at > now and candidates & c.bank_slots[side, bank]:
            candidates &= ~c.bank_slots[side, bank]
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
    if slot >> SIDE_BITS == READS:
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
        if c.updates & _bit(slot):
            c.update_count += 1
            c.group_column[group] = now + t.tCCD_WL
        else:
            c.write_count += 1
    c.bank_precharge[bank] = max(c.bank_precharge[bank], precharge)
    _leave(c, t, now, slot, bank, group)
    if not _wants_row(c, t, bank):
        c.wanted &= ~(np.int64(1) << bank)
        c.row_try = now
    return c.slot_token[slot]


@compiled
def _wants_row(c, t, bank):
    """Return True if a request that is not held back needs the open row of a bank."""
    for side in range(SIDES):
        if served(c, t, side) and c.bank_slots[side, bank] & c.hits[side]:
            return True
    return False


@compiled
def _leave(c, t, now, slot, bank, group):
    side, keep = slot >> SIDE_BITS, ~_bit(slot)
    if side == WRITES:
        c.write_level -= 1
        c.updates &= keep
    if c.opened[side] & ~keep:
        c.opened[side] &= keep
        c.left -= 1
        c.write_left -= side == WRITES
    c.valid[side] &= keep
    c.hits[side] &= keep
    c.group_slots[side, group] &= keep
    c.stack_slots[side, bank >> t.stack_shift] &= keep
    c.bank_slots[side, bank] &= keep
    if not (c.bank_slots[READS, bank] | c.bank_slots[WRITES, bank]):
        c.busy &= ~(np.int64(1) << bank)
        c.bank_left[bank] = now
        if c.owed:
            c.refresh_try = min(c.refresh_try, now + 1)
    elif not c.bank_slots[side, bank] and t.write_queue:
        c.busy &= ~(np.int64(1) << bank)
    c.atoms[c.slot_atom[slot] & (ATOM_FILTER - 1)] -= 1
    base = side << SIDE_BITS
    for other in range(base, base + MAX_SIDE):
        c.slot_older[other] &= keep
    for waiting in range(SIDES):
        _unblock(c, waiting, side, keep)
    c.level -= 1
    if slot == c.oldest:
        c.starving = 0
        c.starve_at = NEVER
        if c.level:
            c.oldest = _oldest_of_both(c, c.valid[READS], c.valid[WRITES])
            c.starve_at = c.slot_arrival[c.oldest] + t.age_cap


@compiled
def _unblock(c, waiting, side, keep):
    """Release the requests that wait for a request of ``side`` that has left."""
    blocked = c.blocked[waiting]
    while blocked:
        other = trailing_zeros(blocked)
        blocked &= blocked - 1
        slot = (waiting << SIDE_BITS) + other
        c.slot_waits[slot, side] &= keep
        if not (c.slot_waits[slot, READS] | c.slot_waits[slot, WRITES]):
            c.blocked[waiting] &= ~(np.int64(1) << other)


@compiled
def _slots_of(c, t, bank):
    """Reads and writes of a bank that are not held back."""
    reads = c.bank_slots[READS, bank] if served(c, t, READS) else np.int64(0)
    writes = c.bank_slots[WRITES, bank] if served(c, t, WRITES) else np.int64(0)
    return reads, writes


@compiled
def _row(c, t, bus, now):
    closed = c.busy & ~c.open
    unwanted = c.busy & c.open & ~c.wanted
    if c.starving and served(c, t, c.oldest >> SIDE_BITS):
        if not c.hits[c.oldest >> SIDE_BITS] & _bit(c.oldest):
            unwanted |= c.open & (np.int64(1) << c.slot_bank[c.oldest])
    earliest = NEVER
    if closed:
        at = max(c.next_activate, (bus.row_free + 1) >> 1)
        if c.refresh_from <= max(at, now) < c.refresh_until:
            at = c.refresh_until
        if at > now:
            earliest = at
            closed = np.int64(0)
    if unwanted:
        at = max(c.next_precharge, (bus.row_free + 1 - t.half_precharge) >> 1)
        if at > now:
            earliest = min(earliest, at)
            unwanted = np.int64(0)
    reads = writes = np.int64(0)
    while closed:
        bank = trailing_zeros(closed)
        closed &= closed - 1
        group = (bank >> t.stack_shift) * t.bank_groups + (bank & (t.bank_groups - 1))
        at = max(c.bank_activate[bank], c.group_activate[group])
        if at <= now:
            more_reads, more_writes = _slots_of(c, t, bank)
            reads |= more_reads
            writes |= more_writes
        else:
            earliest = min(earliest, at)
    while unwanted:
        bank = trailing_zeros(unwanted)
        unwanted &= unwanted - 1
        if c.bank_precharge[bank] <= now:
            more_reads, more_writes = _slots_of(c, t, bank)
            reads |= more_reads
            writes |= more_writes
        else:
            earliest = min(earliest, c.bank_precharge[bank])
    if not (reads | writes):
        c.row_try = earliest
        return
    slot = _oldest_of_both(c, reads, writes)
    bank = c.slot_bank[slot]
    others = reads & ~c.bank_slots[READS, bank] | writes & ~c.bank_slots[WRITES, bank]
    c.row_try = now + 1 if others else earliest
    if c.open & (np.int64(1) << bank):
        _precharge(c, t, bus, now, bank)
    else:
        if t.opening_leaves:
            _leave_queue(c, slot)
        _activate(c, t, bus, now, bank, c.slot_row[slot])


@compiled
def _leave_queue(c, slot):
    side, bit = slot >> SIDE_BITS, _bit(slot)
    if not c.opened[side] & bit:
        c.opened[side] |= bit
        c.left += 1
        c.write_left += side == WRITES


@compiled
def _precharge(c, t, bus, now, bank):
    bus.row_free = max(bus.row_free, 2 * now) + t.precharge_half_cycles
    c.next_precharge = now + t.tPPD
    c.open &= ~(np.int64(1) << bank)
    # Requests to the closed row may remain: held-back ones, and younger ones while the oldest
    # request starves.
    for side in range(SIDES):
        c.hits[side] &= ~c.bank_slots[side, bank]
    c.bank_row[bank] = -1
    c.bank_activate[bank] = max(c.bank_activate[bank], now + t.tRP)
    c.row_try = min(c.row_try, c.bank_activate[bank])


@compiled
def _activate(c, t, bus, now, bank, row):
    bus.row_free = 2 * now + t.activate_half_cycles
    bit = np.int64(1) << bank
    c.open |= bit
    c.wanted |= bit
    c.opening |= bit
    c.fresh |= bit
    c.bank_row[bank] = row
    c.bank_opened[bank] = now
    c.bank_precharge[bank] = now + t.tRAS
    c.bank_activate[bank] = now + t.tRC
    group = (bank >> t.stack_shift) * t.bank_groups + (bank & (t.bank_groups - 1))
    c.group_activate[group] = now + t.tRRD_L
    c.last_activates[c.activated] = now
    c.activated = (c.activated + 1) & 3
    c.next_activate = max(now + t.tRRD_S, c.last_activates[c.activated] + t.tFAW)
    c.activate_count += 1
    c.column_try = now + 1
    for side in range(SIDES):
        slots = c.bank_slots[side, bank]
        while slots:
            slot = trailing_zeros(slots)
            slots &= slots - 1
            if c.slot_row[(side << SIDE_BITS) + slot] == row:
                c.hits[side] |= np.int64(1) << slot
