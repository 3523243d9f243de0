"""Counters of clock enables, by kind of clock-gated block."""

from typing import Any

import numpy as np

from sysmodel.lib.compiled import compiled, inlined

from ..records import record
from ..state import GoldenState
from .kinds import (
    BLOCK,
    COUNTS,
    FIRST_MORE,
    FIRST_UNIT,
    MARK,
    MARK_BITS,
    MORE,
    MORE_BITS,
    UNIT,
)

__all__ = [
    "ACTIVITY",
    "any_changes",
    "any_enabled",
    "begin_cycle",
    "clocked_cycles",
    "count_comparison",
    "count_context",
    "count_marks",
    "count_peers",
    "enable",
]

ACTIVITY = record(
    "enabled added added_marks added_more errors_now errors_before page_changes pages_written "
    "front_chose"
)
"""Clock enables of the cycle outside the channels, with the bits below; number and sums of the
channels' words that are not unpacked yet; and flags of the last cycle: a bank or a unit had an
error, the GPU's page changed, pages were written, the tracker's front chose a candidate.
"""

# Bits of ``enabled``: a clock is enabled; a clock is enabled only because a comparison counts.
_CHANGES, _COUNTING = 1, 2
# Words whose sum fits into the fields.
_MOST_ADDED = (1 << MARK_BITS) - 1
_MARKS, _MORES, _UNITS = len(MARK), len(MORE), len(UNIT)


@inlined
def begin_cycle(s: GoldenState) -> None:
    """Begin a cycle in which no clock is enabled yet."""
    s.activity.enabled = 0


@inlined
def enable(s: GoldenState, block: int, enabled: bool) -> None:
    """Count a cycle of a block's clock, if it is enabled."""
    if enabled:
        s.clocked[block] += 1
        s.activity.enabled |= _CHANGES


@inlined
def any_enabled(s: GoldenState) -> bool:
    """Return whether a clock outside the channels is enabled in this cycle."""
    return s.activity.enabled != 0


@inlined
def any_changes(s: GoldenState) -> bool:
    """Return whether a clock outside the channels is enabled in this cycle, except for the clocks
    of comparisons that only count.
    """
    return s.activity.enabled & _CHANGES != 0


@compiled
def _unpack(s: GoldenState) -> None:
    """Move the sums of the channels' words to the counters."""
    own = s.activity
    for field in range(_MARKS):
        s.clocked[field] += own.added_marks >> (MARK_BITS * field) & _MOST_ADDED
    for field in range(_MORES):
        block = FIRST_MORE + field
        s.clocked[block] += own.added_more >> (MORE_BITS * field) & ((1 << MORE_BITS) - 1)
    own.added = own.added_marks = own.added_more = 0


@inlined
def count_marks(s: GoldenState, marks: int, more: int) -> bool:
    """Count the clock enables of a channel; return whether there is any."""
    own = s.activity
    if not marks | more:
        return False
    own.added_marks += marks
    own.added_more += more
    own.added += 1
    if own.added == _MOST_ADDED:
        _unpack(s)
    return True


@inlined
def count_context(s: GoldenState, enables: int) -> None:
    """Count the clock enables of a context, given as bits of :data:`~.kinds.UNIT`."""
    if enables == COUNTS:
        s.clocked[BLOCK.context_criticality] += 1
        s.activity.enabled |= _COUNTING
    elif enables:
        if enables & COUNTS:
            enables |= UNIT.criticality
        for field in range(_UNITS):
            s.clocked[FIRST_UNIT + field] += enables >> field & 1
        s.activity.enabled |= _CHANGES


@inlined
def count_peers(s: GoldenState, enabled: int) -> None:
    """Count the clock enables of the status of a context's peers."""
    if enabled:
        s.clocked[BLOCK.context_peer_status] += enabled
        s.activity.enabled |= _CHANGES


@inlined
def count_comparison(s: GoldenState) -> None:
    """Count the clock enable of a criticality unit that only counts its phase."""
    s.clocked[BLOCK.context_criticality] += 1
    s.activity.enabled |= _COUNTING


def clocked_cycles(s: GoldenState) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return, for each kind of block, the sum of the cycles since reset in which clocks were
    enabled.
    """
    _unpack(s)
    return np.array(s.clocked)
