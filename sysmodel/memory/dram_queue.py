"""Requests of a channel in :mod:`.dram`: sides, pages and ages of the queue's slots."""

import numpy as np

from sysmodel.config.dram_timing import PAGE_SLOTS
from sysmodel.lib.bits import trailing_zeros
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER

__all__ = [
    "ATOM_FILTER",
    "NOTHING",
    "PAGE_BITS",
    "READS",
    "SIDES",
    "WRITES",
    "bit_of",
    "leave",
    "leave_queue",
    "older_of",
    "oldest_in",
    "pages_of",
    "queued",
    "served",
    "side_of",
    "wants_row",
]

# A slot's number consists of its page and the bit in the page's masks; the reads' pages come first.
READS, WRITES = 0, 1
SIDES = 2
PAGE_BITS = 6
_IN_PAGE = PAGE_SLOTS - 1
NOTHING = -1  # no slot

# Number of counted values of the low address bits; the counts save the search for an equal atom.
ATOM_FILTER = 256


@inlined
def pages_of(c):
    """Number of pages of a side, a constant of the compiled code."""
    return len(c.valid) // SIDES


@inlined
def side_of(c, slot):
    return WRITES if slot >> PAGE_BITS >= pages_of(c) else READS


@inlined
def bit_of(slot):
    return np.int64(1) << (slot & _IN_PAGE)


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
def oldest_in(c, page, mask):
    """Oldest slot of a page's mask, which is not empty."""
    base = page << PAGE_BITS
    slot = trailing_zeros(mask)
    older = c.slot_older[base + slot] & mask
    while older:
        slot = trailing_zeros(older)
        older = c.slot_older[base + slot] & mask
    return base + slot


@inlined
def older_of(c, one, other):
    """Older one of two slots, of which each may be ``NOTHING``."""
    if one < 0:
        return other
    if other < 0:
        return one
    return one if c.slot_number[one] < c.slot_number[other] else other


@compiled
def wants_row(c, t, bank):
    """Return True if a request that is not held back needs the open row of a bank."""
    pages = pages_of(c)
    for page in range(SIDES * pages):
        hits = c.bank_slots[page, bank] & c.hits[page]
        if hits and (served(c, t, np.int64(page >= pages)) or hits & c.opened[page]):
            return True
    return False


@compiled
def leave(c, t, now, slot, bank, group):
    """Remove an issued request."""
    pages = pages_of(c)
    page, keep = slot >> PAGE_BITS, ~bit_of(slot)
    is_write = page >= pages
    if is_write:
        c.write_level -= 1
        c.updates[page - pages] &= keep
    if c.opened[page] & ~keep:
        c.opened[page] &= keep
        c.left -= 1
        c.write_left -= is_write
    c.valid[page] &= keep
    c.hits[page] &= keep
    c.group_slots[page, group] &= keep
    c.stack_slots[page, bank >> t.stack_shift] &= keep
    c.bank_slots[page, bank] &= keep
    _note_idle(c, t, now, bank, is_write)
    c.atoms[c.slot_atom[slot] & (ATOM_FILTER - 1)] -= 1
    base = page << PAGE_BITS
    for other in range(base, base + PAGE_SLOTS):
        c.slot_older[other] &= keep
    for waiting in range(SIDES * pages):
        _unblock(c, waiting, page, keep)
    c.level -= 1
    if slot == c.oldest:
        c.starving = 0
        c.starve_at = NEVER
        if c.level:
            oldest = NOTHING
            for any_page in range(SIDES * pages):
                if c.valid[any_page]:
                    oldest = older_of(c, oldest, oldest_in(c, any_page, c.valid[any_page]))
            c.oldest = oldest
            c.starve_at = c.slot_arrival[oldest] + t.age_cap


@inlined
def _note_idle(c, t, now, bank, is_write):
    """Update the bank's membership of ``busy`` after a request has left."""
    pages = pages_of(c)
    same = other = np.int64(0)
    for page in range(pages):
        reads, writes = c.bank_slots[page, bank], c.bank_slots[pages + page, bank]
        same |= writes if is_write else reads
        other |= reads if is_write else writes
    if not (same | other):
        c.busy &= ~(np.int64(1) << bank)
        c.bank_left[bank] = now
        if c.owed:
            c.refresh_try = min(c.refresh_try, now + 1)
    elif not same and t.write_queue and served(c, t, np.int64(is_write)):
        c.busy &= ~(np.int64(1) << bank)


@compiled
def _unblock(c, waiting, page, keep):
    """Release the requests of page ``waiting`` that wait for a request of ``page`` that left."""
    blocked = c.blocked[waiting]
    while blocked:
        other = trailing_zeros(blocked)
        blocked &= blocked - 1
        slot = (waiting << PAGE_BITS) + other
        c.slot_waits[slot, page] &= keep
        waits = np.int64(0)
        for any_page in range(SIDES * pages_of(c)):
            waits |= c.slot_waits[slot, any_page]
        if not waits:
            c.blocked[waiting] &= ~(np.int64(1) << other)


@compiled
def leave_queue(c, slot):
    """Stop counting a request, since its row is being opened."""
    page, bit = slot >> PAGE_BITS, bit_of(slot)
    if not c.opened[page] & bit:
        c.opened[page] |= bit
        c.left += 1
        c.write_left += page >= pages_of(c)
