"""Refresh of an HBM channel.

- *All-bank*: when a refresh is due, no command goes to any bank; the banks are precharged as soon
  as possible and closed for ``tRFC``. *Staggered* refreshes of the pseudo-channels are due in turn.
- *Per-stack*: the same for the banks of one stack ID after the other.
- *Per-bank*: when a refresh is due, one bank is refreshed and closed for ``tRFC_pb``. Candidates
  are the banks that this round has not refreshed and for which no request waits; the one that is
  expected to be idle longest is chosen, assuming that each bank is idle as long as last time. If
  requests wait for all candidates, the refresh is postponed until more than ``_PUT_OFF`` refreshes
  are due; then the first bank of the round is refreshed regardless of requests. Therefore a stream,
  which uses one bank after the other, does not collide with refreshes.
"""

import numpy as np

from sysmodel.lib.bits import trailing_zeros
from sysmodel.lib.compiled import compiled
from sysmodel.lib.cycles import NEVER

__all__ = ["NEVER", "refresh"]

# Refresh commands that a controller may postpone by the JEDEC standards.
_PUT_OFF = 8


@compiled
def refresh(c, t, bus, now):
    """Perform the refreshes that are due in a cycle, and set ``refresh_try``."""
    if not t.per_bank:
        while now >= c.refresh_due:
            _all_banks(c, t)
        c.refresh_try = c.refresh_due
        return
    while now >= c.refresh_due:
        c.owed += 1
        c.refresh_due += t.refresh_interval
    c.refresh_try = c.refresh_due
    if c.owed:
        _one_bank(c, t, bus, now)


@compiled
def _all_banks(c, t):
    start, first = c.refresh_due, c.refreshed
    for bank in range(first, first + t.banks_at_once):
        if c.open & (np.int64(1) << bank):
            start = max(start, max(c.refresh_due, c.bank_precharge[bank]) + t.tRP)
        else:
            start = max(start, c.bank_activate[bank])
    for bank in range(first, first + t.banks_at_once):
        _close(c, bank, start + t.tRFC)
    c.refreshed = (first + t.banks_at_once) & (t.banks - 1)
    c.refresh_count += 1
    c.row_try = c.column_try = c.refresh_due
    c.refresh_due += t.refresh_interval


@compiled
def _one_bank(c, t, bus, now):
    every = (np.int64(1) << t.banks) - 1 if t.banks < 64 else np.int64(-1)
    left = every & ~c.refreshed
    if not left:
        c.refreshed = np.int64(0)
        left = every
    bank = _longest_idle(c, left, now)
    if bank < 0:
        if c.owed <= _PUT_OFF:
            return
        bank = trailing_zeros(left)
    bit = np.int64(1) << bank
    start = max(now, c.bank_activate[bank])
    if c.open & bit:
        start = max(now, c.bank_precharge[bank]) + t.tRP
    _close(c, bank, start + t.tRFC_pb)
    c.refreshed |= bit
    c.refresh_count += 1
    c.owed -= 1
    # The refresh takes one row command, and one more to close an open bank.
    bus.row_free = max(bus.row_free, 2 * now) + t.precharge_half_cycles
    c.refresh_from, c.refresh_until = start, start + t.tRREFD
    c.row_try = c.column_try = now
    if c.owed:
        c.refresh_try = min(c.refresh_due, max(now + 1, start + t.tRREFD))


@compiled
def _longest_idle(c, banks, now):
    """Bank without a request that is expected to be idle longest, or -1."""
    best, longest = np.int64(-1), np.int64(-1)
    while banks:
        bank = trailing_zeros(banks)
        banks &= banks - 1
        slots = np.int64(0)
        for page in range(len(c.valid)):
            slots |= c.bank_slots[page, bank]
        if not slots:
            # A bank that is idle beyond its expected time is probably no longer used; the longer,
            # the more probable.
            idle = abs(c.bank_left[bank] + c.bank_gap[bank] - now)
            if idle > longest:
                best, longest = bank, idle
    return best


@compiled
def _close(c, bank, activate_at):
    bit = np.int64(1) << bank
    c.open &= ~bit
    c.wanted &= ~bit
    for page in range(len(c.valid)):
        c.hits[page] &= ~c.bank_slots[page, bank]
    c.bank_row[bank] = -1
    c.bank_activate[bank] = max(c.bank_activate[bank], activate_at)
