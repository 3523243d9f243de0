"""HBM channels: their state, their bounded queue and what the cycle loop calls.

A request sits in one of up to 64 slots, and sets of slots are 64-bit masks: the slots of a bank, of
a group, the reads, those whose row is open. A cycle's choice is a few ands, then a search for the
oldest in the mask through ``slot_older``, the mask of the slots that were taken when a slot was
filled. Whatever cannot happen before a known cycle is not looked at until then (``wake``). How
requests are chosen: :mod:`.dram_scheduler`.
"""

from dataclasses import fields
from typing import NamedTuple

import numpy as np

from sysmodel.config.dram_timing import MAX_BANKS, MAX_GROUPS, MAX_QUEUE, DramTiming
from sysmodel.engine.codes import READ, UPDATE
from sysmodel.lib.bits import trailing_zeros
from sysmodel.lib.compiled import compiled

from .dram_scheduler import ATOM_FILTER, NEVER, schedule, served

__all__ = [
    "DramState",
    "dram_level",
    "dram_place",
    "dram_push",
    "dram_room",
    "dram_step",
    "new_dram",
]


_NUMBERS = [f.name for f in fields(DramTiming) if f.name not in ("refresh", "bank_interleave")]
_DERIVED = ("per_bank", "permuted_banks", "column_bits", "bank_bits", "slots")
_TIMING = np.dtype([(name, np.int64) for name in (*_NUMBERS, *_DERIVED)])

_SCALARS = (
    # Sets of slots.
    "valid",
    "reads",
    "updates",
    "hits",  # their row is open
    "blocked",  # an older request to the same atom is in the queue
    # Sets of banks.
    "busy",  # has a request that is not held back
    "open",
    "wanted",  # if open, has such a request to its row
    "opening",  # activated, column commands perhaps not yet allowed
    "fresh",  # no column command since the activate
    # The queue and its scheduler.
    "level",
    "write_level",  # writes and updates
    "draining",  # writes are served, reads held back
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
    + [("atoms", np.int64, (ATOM_FILTER,))],
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
    for name in _NUMBERS:
        t[name] = getattr(timing, name)
    t["per_bank"] = timing.refresh == "per-bank"
    t["permuted_banks"] = timing.banks - 1 if timing.bank_interleave == "permuted" else 0
    t["column_bits"] = timing.columns.bit_length() - 1
    t["bank_bits"] = timing.banks.bit_length() - 1
    t["slots"] = np.uint64((1 << timing.queue_depth) - 1).astype(np.int64)
    c = np.zeros(channels, _CHANNEL)
    c["bank_row"] = -1
    c["last_activates"] = -NEVER
    c["starve_at"] = NEVER
    c["refresh_due"] = timing.tREFI if timing.refresh != "none" else NEVER
    return DramState(t, c)


@compiled
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
    row = rest >> high_bits
    return row, bank ^ (row & t.permuted_banks), column


@compiled
def dram_level(state: DramState, ch: int) -> int:
    """Requests in the queue."""
    return state.channel[ch].level


@compiled
def dram_room(state: DramState, ch: int, access: int) -> bool:
    """Whether a request may be entered."""
    c, t = state.channel[ch], state.timing[0]
    if not t.write_queue:
        return c.level < t.queue_depth
    if access == READ:
        return c.level - c.write_level < t.queue_depth - t.write_queue
    return c.write_level < t.write_queue


@compiled
def dram_push(state: DramState, ch: int, now: int, access: int, local_atom: int, token: int):
    """Enters a request, which the caller may do only while there is :func:`dram_room`.

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
    low = local_atom & (ATOM_FILTER - 1)
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
    else:
        c.write_level += 1
        if access == UPDATE:
            c.updates |= bit
    if waits:
        c.blocked |= bit
    if c.bank_row[bank] == row:
        c.hits |= bit
    if state.timing[0].write_queue:
        # It may end or begin a drain.
        c.wake = now
    if not served(c, state.timing[0]) & bit:
        return
    if c.hits & bit:
        c.wanted |= np.int64(1) << bank
        c.column_try = c.wake = now
    elif not c.busy & (np.int64(1) << bank):
        c.row_try = c.wake = now
    c.busy |= np.int64(1) << bank


@compiled
def dram_step(state: DramState, ch: int, now: int, allow_update: bool) -> int:
    """One cycle of a channel; at most one column command is issued.

    A write's or an update's effect, and what a read sees, are those of the cycle of the column
    command; a read's data are there ``DramTiming.read_latency`` cycles later.

    Parameters
    ----------
    allow_update : bool
        Whether a write or an update may be issued: there is room for its acknowledgement.

    Returns
    -------
    int
        The token of the request whose column command is issued; -1 if none is.
    """
    c = state.channel[ch]
    c.occupancy_sum += c.level
    if now < c.wake and allow_update == c.allowed:
        return -1
    return schedule(c, state.timing[0], now, allow_update)
