"""HBM channels: state, bounded queues, and the functions that the cycle loop calls.

A *channel* here is a unit with a data bus of its own: an HBM channel, or one of the two
pseudo-channels that share its command buses. A request occupies a slot; its *side* is the half for
reads or the half for writes and updates. A side has one *page* of 64 slots, or two or four for
deeper queues. Sets of slots are 64-bit masks of a page: the slots of a bank, of a group, or with
an open row. A cycle's choice takes a few ANDs, then a search for the oldest slot in the mask
through ``slot_older``, the mask of the page's slots that were occupied when a slot was filled. The
number of pages is the length of a channel's arrays, so that the compiled code of one page has no
loops over pages. ``wake`` is the first cycle in which a command may be possible; the
scheduler does nothing before it. The choice of requests is in :mod:`.dram_scheduler`, refresh in
:mod:`.dram_refresh`.
"""

from dataclasses import fields
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sysmodel.config.dram_timing import (
    MAX_ADDRESS_FIELDS,
    MAX_BANKS,
    MAX_GROUPS,
    MAX_STACK_IDS,
    PAGE_SLOTS,
    DramTiming,
)
from sysmodel.engine.codes import READ, UPDATE
from sysmodel.lib.bits import trailing_zeros
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER

from .dram_queue import (
    ATOM_FILTER,
    PAGE_BITS,
    READS,
    SIDES,
    WRITES,
    pages_of,
    queued,
    served,
)
from .dram_scheduler import DATA_SCALE_BITS, schedule

__all__ = [
    "DramState",
    "dram_level",
    "dram_place",
    "dram_push",
    "dram_reads",
    "dram_rests_until",
    "dram_accepts",
    "dram_step",
    "new_dram",
    "pass_dram",
]

_WORDS = ("refresh", "bank_interleave", "address_map", "shared_queue", "opening_leaves")
_NUMBERS = [f.name for f in fields(DramTiming) if f.name not in _WORDS]
_DERIVED = (
    "per_bank",
    "permuted_banks",
    "refresh_interval",
    "bus_shift",  # from a channel number to its bus number
    "sharing",  # pseudo-channels that share queues
    "stack_shift",  # from a bank number to its stack ID
    "address_fields",
    "opening_leaves",
    "half_precharge",  # half cycles by which a precharge may start late
    "side_slots",  # capacity of a side
    "banks_at_once",  # banks of a refresh, unless per bank
    "data_cost",  # time on the bus paid for an atom, or 0; both are in parts of a cycle
    "data_credit",  # data that may be transferred before they are paid
)
# Fitted, together with the presets' dram.data_share, to the rates of copies and sums beside reads.
_CREDIT_ATOMS = 8
_PLACE_BANK_SHIFT = 16  # a place in the address map has the column below and the bank above
_TIMING = np.dtype(
    [(name, np.int64) for name in (*_NUMBERS, *_DERIVED)]
    + [(f"address_{name}", np.int64, (MAX_ADDRESS_FIELDS,)) for name in ("bits", "place")]
)

_SCALARS = (
    # Sets of banks.
    "busy",  # banks with a request that is not held back
    "open",
    "wanted",  # open banks with such a request to the open row
    "opening",  # activated banks, in which column commands may not be allowed yet
    "fresh",  # no column command since the activate
    "refreshed",  # banks refreshed in this round; unless per bank, the next bank
    # The queue and its scheduler.
    "level",
    "write_level",  # writes and updates
    "left",  # requests that no longer count, because their row is being opened
    "write_left",
    "draining",  # writes are served, reads are held back
    "taken",  # requests so far: the number of the next one
    "oldest",
    "starving",
    "starve_at",
    "writing",
    "run",
    "allowed",
    "column_stack",  # stack ID of the last column command
    # Earliest cycle of a column command, a row command, a refresh, and any of them.
    "column_try",
    "row_try",
    "refresh_try",
    "wake",
    # Earliest command by the restrictions of the whole channel.
    "next_read",
    "next_write",
    "next_activate",
    "next_precharge",
    "next_stack",  # column command of another stack ID
    "data_time",  # time up to which data are paid
    "activated",
    "refresh_due",
    "owed",  # due per-bank refreshes
    "refresh_from",  # from here until refresh_until no other bank is activated
    "refresh_until",
    # Counters.
    "read_count",
    "write_count",
    "update_count",
    "activate_count",
    "refresh_count",
    "row_hit_count",
    "busy_cycles",
    "occupancy_sum",
)

_GROUPS = MAX_GROUPS * MAX_STACK_IDS


@lru_cache
def _channel_type(pages: int) -> np.dtype:
    """Type of a channel whose queue has sides of some pages."""
    masks, slots = SIDES * pages, SIDES * pages * PAGE_SLOTS
    of_queue = (
        # Sets of slots, by page. Of blocked ones, an older request to the same atom waits.
        [(name, np.int64, (masks,)) for name in ("valid", "hits", "blocked", "opened")]
        + [("updates", np.int64, (pages,))]  # among the writes
        + [("last_activates", np.int64, (4,))]
        + [("group_slots", np.int64, (masks, _GROUPS))]
        + [(f"group_{name}", np.int64, (_GROUPS,)) for name in ("column", "read", "activate")]
        + [("stack_slots", np.int64, (masks, MAX_STACK_IDS))]
        + [("bank_slots", np.int64, (masks, MAX_BANKS))]
        + [
            (f"bank_{name}", np.int64, (MAX_BANKS,))
            for name in ("row", "opened", "activate", "precharge", "left", "gap")
        ]
        + [
            (f"slot_{name}", np.int64, (slots,))
            for name in ("atom", "token", "arrival", "number", "row", "bank", "older")
        ]
        + [("slot_waits", np.int64, (slots, masks))]
        # Number of requests per value of an atom's low bits; it is nearly always zero, which saves
        # a search.
        + [("atoms", np.int64, (ATOM_FILTER,))]
    )
    return np.dtype([(name, np.int64) for name in _SCALARS] + of_queue, align=True)


# The command buses of pseudo-channels that share them.
_BUS = np.dtype(
    [
        ("column_at", np.int64),  # cycle of the last column command
        ("row_free", np.int64),  # half cycle from which the row-command bus is free
    ],
    align=True,
)


class DramState(NamedTuple):
    """State of all channels of a system.

    ``channel`` is a structured array with one element per channel; ``bus`` has one element for the
    consecutive ``pseudo_channels`` that share command buses; ``timing`` has one element. The
    counters of a channel are ``read_count``, ``write_count``, ``update_count``, ``activate_count``,
    ``refresh_count``, ``row_hit_count`` (column commands without an activate of their own),
    ``busy_cycles`` of the data bus, and ``occupancy_sum``, the sum of the queue's level over all
    cycles.
    """

    timing: np.ndarray
    channel: np.ndarray
    bus: np.ndarray


def new_dram(timing: DramTiming, channels: int) -> DramState:
    """Make channels with empty queues and closed banks.

    Raises
    ------
    ValueError
        If there is no channel, or a pseudo-channel without its partner.
    """
    if channels < 1 or channels % timing.pseudo_channels:
        raise ValueError(
            f"channels must be a multiple of {timing.pseudo_channels}, not {channels!r}"
        )
    c = np.zeros(channels, _channel_type(timing.pages))
    c["bank_row"] = -1
    c["bank_gap"] = NEVER
    c["last_activates"] = -NEVER
    c["starve_at"] = NEVER
    c["refresh_due"] = timing.refresh_interval or NEVER
    if timing.refresh in ("staggered", "per-stack"):
        turn = np.arange(channels) % timing.pseudo_channels
        c["refresh_due"] -= turn * timing.refresh_interval // timing.pseudo_channels
    c["refresh_try"] = c["refresh_due"]
    bus = np.zeros(channels // timing.pseudo_channels, _BUS)
    bus["column_at"] = -1
    return DramState(_timing_record(timing), c, bus)


def _timing_record(timing: DramTiming) -> np.ndarray:
    t = np.zeros(1, _TIMING)
    for name in _NUMBERS:
        t[name] = getattr(timing, name)
    t["per_bank"] = timing.refresh == "per-bank"
    t["permuted_banks"] = timing.banks - 1 if timing.bank_interleave == "permuted" else 0
    t["refresh_interval"] = timing.refresh_interval
    t["bus_shift"] = timing.pseudo_channels.bit_length() - 1
    t["sharing"] = timing.pseudo_channels if timing.shared_queue else 1
    banks_of_stack = timing.banks // timing.stack_ids
    t["stack_shift"] = banks_of_stack.bit_length() - 1
    t["opening_leaves"] = timing.opening_leaves
    t["tCCD_R"] = max(timing.tCCD_R, timing.tCCD_S)
    t["half_precharge"] = timing.precharge_half_cycles & 1
    t["side_slots"] = PAGE_SLOTS * timing.pages
    t["banks_at_once"] = banks_of_stack if timing.refresh == "per-stack" else timing.banks
    if timing.data_permille < 1000:
        t["data_cost"] = (timing.burst << DATA_SCALE_BITS) * 1000 // timing.data_permille
        t["data_credit"] = _CREDIT_ATOMS * timing.burst << DATA_SCALE_BITS
    following = {
        "column": 0,
        "group": _PLACE_BANK_SHIFT,
        "bank": _PLACE_BANK_SHIFT + timing.bank_groups.bit_length() - 1,
        "stack": _PLACE_BANK_SHIFT + banks_of_stack.bit_length() - 1,
    }
    address_fields = timing.address_fields
    t["address_fields"] = len(address_fields)
    for i, (name, bits) in enumerate(address_fields):
        t["address_bits"][0, i] = bits
        t["address_place"][0, i] = following[name]
        following[name] += bits
    return t


@compiled
def dram_place(state: DramState, local_atom: int) -> tuple[int, int, int]:
    """Compute row, bank and column of an atom address in a channel."""
    t = state.timing[0]
    rest, place = local_atom, np.int64(0)
    for i in range(t.address_fields):
        bits = t.address_bits[i]
        place |= (rest & ((np.int64(1) << bits) - 1)) << t.address_place[i]
        rest >>= bits
    bank = place >> _PLACE_BANK_SHIFT
    column = place & ((1 << _PLACE_BANK_SHIFT) - 1)
    return rest, bank ^ (rest & t.permuted_banks), column


@inlined
def dram_level(state: DramState, ch: int) -> int:
    """Number of requests in the queue."""
    level: int = state.channel[ch].level
    return level


@inlined
def dram_reads(state: DramState, ch: int) -> int:
    """Number of reads in the queue."""
    channel = state.channel[ch]
    reads: int = channel.level - channel.write_level
    return reads


@compiled
def dram_accepts(state: DramState, ch: int, access: int) -> bool:
    """Return True if the queue has space for a request."""
    c, t = state.channel[ch], state.timing[0]
    level, writes = c.level, c.write_level
    if (level - writes if access == READ else writes) == t.side_slots:
        return False
    if t.sharing > 1 or t.opening_leaves:
        level, writes = queued(state.channel, ch & -t.sharing, t.sharing)
    if not t.write_queue:
        return level < t.queue_depth
    if access == READ:
        return level - writes < t.queue_depth - t.write_queue
    return writes < t.write_queue


@compiled
def dram_push(state: DramState, ch: int, now: int, access: int, local_atom: int, token: int):
    """Enter a request; the caller must check :func:`dram_accepts` first.

    The scheduler sees the request in the next :func:`dram_step`, even in the same cycle.

    Parameters
    ----------
    access : int
        ``READ``, ``WRITE`` or ``UPDATE``.
    local_atom : int
        Atom address in the channel.
    token : int
        Number of at least 0 that :func:`dram_step` returns when the request is issued.
    """
    c, t = state.channel[ch], state.timing[0]
    row, bank, _ = dram_place(state, local_atom)
    side = READS if access == READ else WRITES
    page = side * pages_of(c)
    while c.valid[page] == -1:
        page += 1
    free = trailing_zeros(~c.valid[page])
    slot = (page << PAGE_BITS) + free
    bit = np.int64(1) << free
    if _wait_for_equals(c, local_atom, bank, slot):
        c.blocked[page] |= bit
    c.slot_atom[slot] = local_atom
    c.slot_token[slot] = token
    c.slot_arrival[slot] = now
    c.slot_number[slot] = c.taken
    c.slot_row[slot] = row
    c.slot_bank[slot] = bank
    c.slot_older[slot] = c.valid[page]
    if c.level == 0:
        c.oldest = slot
        c.starve_at = now + t.age_cap
    c.taken += 1
    c.level += 1
    others = np.int64(0)
    for any_page in range(len(c.valid)):
        others |= c.bank_slots[any_page, bank]
    if not others:
        c.bank_gap[bank] = now - c.bank_left[bank]
    c.valid[page] |= bit
    c.bank_slots[page, bank] |= bit
    stack = bank >> t.stack_shift
    c.group_slots[page, stack * t.bank_groups + (bank & (t.bank_groups - 1))] |= bit
    c.stack_slots[page, stack] |= bit
    if side == WRITES:
        c.write_level += 1
        if access == UPDATE:
            c.updates[page - pages_of(c)] |= bit
    if c.bank_row[bank] == row:
        c.hits[page] |= bit
    if t.write_queue:
        # The request may begin or end a drain.
        c.wake = now
    if not served(c, t, side):
        return
    if c.hits[page] & bit:
        c.wanted |= np.int64(1) << bank
        c.column_try = c.wake = now
    elif not c.busy & (np.int64(1) << bank):
        c.row_try = c.wake = now
    c.busy |= np.int64(1) << bank


@compiled
def _wait_for_equals(c, local_atom, bank, slot):
    """Record the older requests to the same atom, which come first; return True if any exist."""
    found = False
    for page in range(len(c.valid)):
        c.slot_waits[slot, page] = 0
    low = local_atom & (ATOM_FILTER - 1)
    if c.atoms[low]:
        for page in range(len(c.valid)):
            others = c.bank_slots[page, bank]
            while others:
                other = trailing_zeros(others)
                others &= others - 1
                if c.slot_atom[(page << PAGE_BITS) + other] == local_atom:
                    c.slot_waits[slot, page] |= np.int64(1) << other
                    found = True
    c.atoms[low] += 1
    return found


@compiled
def dram_step(state: DramState, ch: int, now: int, allow_update: bool) -> int:
    """Simulate one cycle of a channel, which issues at most one column command.

    Among pseudo-channels that share command buses, the first one stepped in a cycle has priority.
    Writes and updates take effect, and reads sample the data, in the cycle of the column command;
    read data arrive ``DramTiming.read_latency`` cycles later.

    Parameters
    ----------
    allow_update : bool
        True if a write or an update may be issued: its acknowledgement has space.

    Returns
    -------
    int
        Token of the request whose column command is issued; -1 without one.
    """
    c, t = state.channel[ch], state.timing[0]
    c.occupancy_sum += c.level
    if now < c.wake and allow_update == c.allowed and t.sharing == 1:
        return -1
    return schedule(state.channel, ch, t, state.bus[ch >> t.bus_shift], now, allow_update)


@compiled
def dram_rests_until(state: DramState, ch: int, now: int) -> int:
    """First cycle from ``now`` on in which :func:`dram_step` may act, if no request enters and the
    permission to issue does not change."""
    c = state.channel[ch]
    return max(now, c.wake) if state.timing[0].sharing == 1 else now


@compiled
def pass_dram(state: DramState, ch: int, cycles: int) -> None:
    """Count cycles in which the channel is idle."""
    c = state.channel[ch]
    c.occupancy_sum += cycles * c.level
