"""Refresh of an HBM channel.

- *All-bank*: when due, no command goes to any bank; they are precharged as soon as they may be, and
  closed for ``tRFC``.
- *Per-bank*: when one is due, one of the banks that this round has not refreshed yet and that
  nothing waits for is refreshed, and closed for ``tRFC_pb``: the one that will be idle longest, if
  each bank is idle as long as it was the last time. If something waits for each, the refresh is put
  off, until more than ``_PUT_OFF`` of them are due; then the first bank of the round is refreshed,
  whatever waits for it. So a stream, which needs one bank after the other, does not meet the
  refresh.
"""

import numpy as np

from sysmodel.lib.bits import trailing_zeros
from sysmodel.lib.compiled import compiled
from sysmodel.lib.cycles import NEVER

__all__ = ["NEVER", "refresh"]

# Refresh commands that JEDEC's standards let a controller postpone.
_PUT_OFF = 8


@compiled
def refresh(c, t, bus, now):
    """What is due of refreshes in a cycle; sets ``refresh_try``."""
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
    start = c.refresh_due
    for bank in range(t.banks):
        if c.open & (np.int64(1) << bank):
            start = max(start, max(c.refresh_due, c.bank_precharge[bank]) + t.tRP)
        else:
            start = max(start, c.bank_activate[bank])
    for bank in range(t.banks):
        _close(c, bank, start + t.tRFC)
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
    # A command of its own, and one more if the bank was open.
    bus.row_free = max(bus.row_free, 2 * now) + t.precharge_half_cycles
    c.refresh_from, c.refresh_until = start, start + t.tRREFD
    c.row_try = c.column_try = now
    if c.owed:
        c.refresh_try = min(c.refresh_due, max(now + 1, start + t.tRREFD))


@compiled
def _longest_idle(c, banks, now):
    """Of the banks without a request the one that is expected back last, or -1."""
    best, longest = np.int64(-1), np.int64(-1)
    while banks:
        bank = trailing_zeros(banks)
        banks &= banks - 1
        if not (c.bank_slots[0, bank] | c.bank_slots[1, bank]):
            # One that is overdue does not come back: the longer it is, the surer.
            idle = abs(c.bank_left[bank] + c.bank_gap[bank] - now)
            if idle > longest:
                best, longest = bank, idle
    return best


@compiled
def _close(c, bank, activate_at):
    bit = np.int64(1) << bank
    c.open &= ~bit
    c.wanted &= ~bit
    for side in range(2):
        c.hits[side] &= ~c.bank_slots[side, bank]
    c.bank_row[bank] = -1
    c.bank_activate[bank] = max(c.bank_activate[bank], activate_at)
