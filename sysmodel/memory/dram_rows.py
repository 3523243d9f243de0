"""Row commands of an HBM channel: the scheduler's choice of an activate or a precharge."""

import numpy as np

from sysmodel.lib.bits import trailing_zeros
from sysmodel.lib.compiled import compiled
from sysmodel.lib.cycles import NEVER

from .dram_queue import (
    NOTHING,
    PAGE_BITS,
    SIDES,
    bit_of,
    leave_queue,
    older_of,
    oldest_in,
    pages_of,
    served,
    side_of,
)

__all__ = ["row_command"]


@compiled
def row_command(c, t, bus, now):
    """Issue the row command for the oldest request that may have one, and set ``row_try``."""
    closed = c.busy & ~c.open
    unwanted = c.busy & c.open & ~c.wanted
    if c.starving and served(c, t, side_of(c, c.oldest)):
        if not c.hits[c.oldest >> PAGE_BITS] & bit_of(c.oldest):
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
    timely = np.int64(0)
    while closed:
        bank = trailing_zeros(closed)
        closed &= closed - 1
        group = (bank >> t.stack_shift) * t.bank_groups + (bank & (t.bank_groups - 1))
        at = max(c.bank_activate[bank], c.group_activate[group])
        if at <= now:
            timely |= np.int64(1) << bank
        else:
            earliest = min(earliest, at)
    while unwanted:
        bank = trailing_zeros(unwanted)
        unwanted &= unwanted - 1
        if c.bank_precharge[bank] <= now:
            timely |= np.int64(1) << bank
        else:
            earliest = min(earliest, c.bank_precharge[bank])
    if not timely:
        c.row_try = earliest
        return
    slot = _oldest_of(c, t, timely)
    bank = c.slot_bank[slot]
    c.row_try = now + 1 if timely & ~(np.int64(1) << bank) else earliest
    if c.open & (np.int64(1) << bank):
        _precharge(c, t, bus, now, bank)
    else:
        if t.opening_leaves:
            leave_queue(c, slot)
        _activate(c, t, bus, now, bank, c.slot_row[slot])


@compiled
def _oldest_of(c, t, banks):
    """Oldest request of some banks that is not held back."""
    slot, pages = NOTHING, pages_of(c)
    for page in range(SIDES * pages):
        if served(c, t, np.int64(page >= pages)):
            slots, left = np.int64(0), banks
            while left:
                slots |= c.bank_slots[page, trailing_zeros(left)]
                left &= left - 1
            if slots:
                slot = older_of(c, slot, oldest_in(c, page, slots))
    return slot


@compiled
def _precharge(c, t, bus, now, bank):
    bus.row_free = max(bus.row_free, 2 * now) + t.precharge_half_cycles
    c.next_precharge = now + t.tPPD
    c.open &= ~(np.int64(1) << bank)
    # Requests to the closed row may remain: held-back ones, and younger ones while the oldest
    # request starves.
    for page in range(SIDES * pages_of(c)):
        c.hits[page] &= ~c.bank_slots[page, bank]
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
    for page in range(SIDES * pages_of(c)):
        slots = c.bank_slots[page, bank]
        while slots:
            slot = trailing_zeros(slots)
            slots &= slots - 1
            if c.slot_row[(page << PAGE_BITS) + slot] == row:
                c.hits[page] |= np.int64(1) << slot
