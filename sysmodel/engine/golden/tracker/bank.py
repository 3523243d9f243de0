"""Tracker bank: the pipeline from the choice of an event to the update of the table."""

from typing import NamedTuple

import numpy as np

from rtl.interface.encodings import ErrorCode
from rtl.registers.map import MAX_CONTEXTS
from sysmodel.lib.compiled import compiled, inlined

from ..index import natural
from ..payloads.layouts import COMPLETION, TILE
from ..records import Record, copy_record, record
from ..registers.corrections import note_corrected_next
from ..registers.errors import error
from ..scrub import SCRUB_WALK
from ..state import GoldenState
from .choice import CHOICE_WORDS
from .clearing import CLEARING_WORDS, is_clearing, is_clearing_context, reads_row, step_clearing
from .completions import COMPLETIONS
from .counts import drop_event, note_event
from .scrub import SCRUB_WORDS, begin_bank_scrub
from .table import check_row, row_of, update_entry

__all__ = [
    "BANK",
    "EVENTS",
    "BankOutputs",
    "accept",
    "begin_bank",
    "event_comes",
    "has_bank_space",
    "has_events",
    "step_bank",
]

EVENTS = 8
"""Places of the pipeline's circular buffer, one for each cycle."""
_EVENT = record([("tile", TILE)], "allowed_ways lost_ways")
BANK = record(
    f"in_pipeline completions_level completions_head wrote_cycle {CHOICE_WORDS} {CLEARING_WORDS} "
    f"{SCRUB_WORDS}",
    [
        ("walk", SCRUB_WALK),
        ("completions", COMPLETION, (COMPLETIONS,)),
        ("events", _EVENT, (EVENTS,)),
        ("entry_counts", np.int64, (MAX_CONTEXTS,)),
    ],
)
"""Bank: a bit for each event in the pipeline, the queue of completions, the cycle of the last
change of the table, and the number of each context's entries."""

_CORRUPT = ErrorCode.TRACKER_CORRUPT.value
# Cycles from the choice of an event to the comparison of its row, and to the update of the row.
_COMPARE, _UPDATE = 3, 4
_MOST_WAITING = COMPLETIONS - (_UPDATE + 1)  # every event in the pipeline finds space


class BankOutputs(NamedTuple):
    """Result of a bank's cycle.

    Attributes
    ----------
    failure : int
        Error of the event in the update stage, or 0.
    busy : bool
        The bank has events or entries to be cleared in the next cycle.
    """

    failure: int
    busy: bool


@inlined
def _slot(cycle: int) -> int:
    """Return the place in the circular buffer of an event that was chosen in this cycle."""
    return cycle & (EVENTS - 1)


@inlined
def has_bank_space(bank: Record) -> bool:
    """Return whether the bank takes an event in this cycle, before any other change of the bank."""
    return not is_clearing(bank) and bank.completions_level <= _MOST_WAITING


@inlined
def event_comes(bank: Record, cycle: int) -> bool:
    """Return whether an event enters the bank in this cycle, before it may be dropped."""
    return bank.in_pipeline >> _slot(cycle - 1) & 1 != 0


@inlined
def begin_bank(s: GoldenState, number: int) -> None:
    """Advance the scrub walk of a bank by one cycle, before the bank changes its table."""
    begin_bank_scrub(s, number, event_comes(s.banks[natural(number)], s.gpu.cycle))


@inlined
def has_events(bank: Record, cycle: int) -> bool:
    """Return whether the pipeline has events that were chosen before this cycle."""
    return bank.in_pipeline & ~(1 << _slot(cycle)) != 0


@inlined
def accept(s: GoldenState, bank: Record, tile: Record) -> None:
    """Take an event that was chosen in this cycle."""
    slot = _slot(s.gpu.cycle)
    copy_record(bank.events[slot].tile, tile)
    bank.in_pipeline |= 1 << slot
    note_event(s.contexts[natural(tile.owner)].tracker)


@inlined
def _drop(s: GoldenState, bank: Record, slot: int) -> None:
    """Drop an event of the pipeline."""
    bank.in_pipeline &= ~(1 << slot)
    drop_event(s.contexts[natural(bank.events[slot].tile.owner)].tracker)


@inlined
def _drop_aborted(s: GoldenState, bank: Record) -> None:
    """Drop the event that arrives in this cycle, if its context is aborted or being cleared."""
    slot = _slot(s.gpu.cycle - 1)
    if bank.in_pipeline >> slot & 1:
        owner = natural(bank.events[slot].tile.owner)
        if s.contexts[owner].aborted or is_clearing_context(bank, owner):
            _drop(s, bank, slot)


@compiled
def _drop_cleared(s: GoldenState, bank: Record, clear: int) -> None:
    """Drop the events of contexts that are to be cleared. An event that was chosen in this cycle is
    dropped when it arrives.
    """
    for slot in range(EVENTS):
        if slot != _slot(s.gpu.cycle) and bank.in_pipeline >> slot & 1:
            if clear >> bank.events[slot].tile.owner & 1:
                _drop(s, bank, slot)


@inlined
def _step_events(s: GoldenState, number: int) -> int:
    """Advance the events by one cycle; return the error of the update stage, or 0.

    An event changes the table immediately in its update stage, so each event sees all earlier
    changes.
    """
    bank, cycle = s.banks[natural(number)], s.gpu.cycle
    compared, updated = _slot(cycle - _COMPARE), _slot(cycle - _UPDATE)
    if bank.in_pipeline >> compared & 1:
        event = bank.events[compared]
        own = s.contexts[natural(event.tile.owner)]
        event.allowed_ways = own.ways
    if bank.in_pipeline >> updated & 1:
        _drop(s, bank, updated)
        event = bank.events[updated]
        failure = update_entry(s, natural(number), event)
        if event.lost_ways & event.allowed_ways:
            tile = event.tile
            return error(_CORRUPT, natural(tile.owner), tile.dispatch_index, tile.wavefront)
        return failure
    return 0


@compiled
def _read_row(s: GoldenState, number: int, comes: bool) -> None:
    """Read the row of the event that comes, or that of the walk; after the table's change. Note
    whether an entry is corrected in the next cycle."""
    bank, cycle = s.banks[natural(number)], s.gpu.cycle
    corrected = False
    if comes:
        event = bank.events[_slot(cycle - 1)]
        row = s.entries[natural(number), row_of(s.config, event.tile.dispatch_index)]
        event.lost_ways, corrected = check_row(s.config, row, cycle)
    elif reads_row(s.config, bank):
        row = s.entries[natural(number), natural(bank.clear_next)]
        _, corrected = check_row(s.config, row, cycle)
    if corrected:
        note_corrected_next(s.gpu.corrections, True)


@inlined
def step_bank(s: GoldenState, number: int, clear: int) -> BankOutputs:
    """Advance a bank by one cycle, with the event that was chosen in the cycle.

    Parameters
    ----------
    clear : int
        Strobes: a bit for each context whose events and entries are to be cleared.
    """
    bank, cycle = s.banks[natural(number)], s.gpu.cycle
    busy, comes = has_events(bank, cycle), event_comes(bank, cycle)
    failure = 0
    if bank.in_pipeline:
        _drop_aborted(s, bank)
        failure = _step_events(s, number)
    if s.gpu.injection.entries_have_errors:
        _read_row(s, number, comes)
    if clear or is_clearing(bank):
        step_clearing(s, number, clear, busy)
        if clear:
            _drop_cleared(s, bank, clear)
    return BankOutputs(failure, bank.in_pipeline != 0 or is_clearing(bank))
