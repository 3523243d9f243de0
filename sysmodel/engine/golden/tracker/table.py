"""Table of a tracker bank: the entries of tiles, and their change by an event."""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import inlined

from ..index import natural
from ..records import Record, Records, clear_record, record
from ..registers.errors import error
from ..registers.injection import CORRECTED, LOST, entry_bit_errors
from ..state import GoldenState
from .completions import push_completion
from .counts import change_entries

__all__ = [
    "ENTRY",
    "WRITE_CYCLES",
    "check_row",
    "clear_owners",
    "clear_row",
    "correct_entry",
    "first_corrected",
    "is_undisturbed",
    "reset_entry_counts",
    "row_of",
    "update_entry",
]

ENTRY = record(
    "valid_entry context_number key known missing balance entry_outer entry_inner entry_start "
    "entry_errors since"
)
"""Entry of a tile: its context and its key in the set, the flag that a marker has come, the shares
that are missing since, the number of updates minus that of announced atoms, its edges, the smallest
atom, and the bit errors that are in the memory from the cycle ``since`` on.
"""

_SET_FULL = ErrorCode.SET_FULL.value
_NO_SHARE = ErrorCode.NO_SHARE.value
_OVERRUN = ErrorCode.OVERRUN.value
_COUNT_OVERFLOW = ErrorCode.COUNT_OVERFLOW.value
_READ_CYCLES = 3  # cycles from the read of an event's row to the update of the row
WRITE_CYCLES = 2
"""Cycles from the update of a row to the first cycle in which the row is read from the memory."""


@inlined
def row_of(config: Record, dispatch_index: int) -> int:
    """Return the row of a dispatch index."""
    return natural(dispatch_index >> config.bank_bits & (config.rows - 1))


@inlined
def is_undisturbed(bank: Record, cycle: int) -> bool:
    """Return whether the table was not written since its walk read a row."""
    return bank.wrote_cycle < cycle - WRITE_CYCLES


@inlined
def _is_found(entry: Record, cycle: int) -> bool:
    """Return whether an event in its update stage finds the entry. An entry that was lost when the
    event's row was read is not found."""
    lost = entry.entry_errors == LOST and entry.since <= cycle - _READ_CYCLES
    return entry.valid_entry and not lost


@inlined
def check_row(config: Record, row: Records, cycle: int) -> tuple[int, bool]:
    """Read a row, which is corrected in the next cycle.

    Returns
    -------
    lost : int
        A bit for each way whose entry is lost.
    corrected : bool
        An entry has a bit error.
    """
    lost, corrected = 0, False
    for way in range(config.ways):
        entry = row[way]
        if entry.entry_errors and entry.since <= cycle:
            lost |= (entry.entry_errors == LOST) << way
            corrected |= entry.entry_errors == CORRECTED
    return lost, corrected


@inlined
def first_corrected(config: Record, row: Records) -> int:
    """Return the way of the first entry with one bit error, or -1."""
    for way in range(config.ways):
        if row[way].entry_errors == CORRECTED:
            return way
    return -1


@inlined
def correct_entry(entry: Record, cycle: int) -> None:
    """Write an entry back, corrected. A change of this cycle is written after that."""
    if entry.since <= cycle:
        entry.entry_errors = 0


@inlined
def reset_entry_counts(banks: Records, count: int, context: int) -> None:
    """Reset the count of a context's entries to 0."""
    for index in range(count):
        banks[index].entry_counts[context] = 0


@inlined
def clear_row(config: Record, row: Records) -> None:
    """Clear all entries of a row."""
    for way in range(config.ways):
        clear_record(row[way])


@inlined
def clear_owners(config: Record, bank: Record, row: Records, owners: int, cycle: int) -> None:
    """Clear the entries of a row that belong to these contexts or are lost."""
    for way in range(config.ways):
        entry = row[way]
        lost = entry.entry_errors == LOST
        if entry.valid_entry and (owners >> entry.context_number & 1 or lost):
            clear_record(entry)
        if not entry.valid_entry:
            bank.wrote_cycle = cycle


@inlined
def _find(s: GoldenState, row: Records, key: int, owner: int, allowed_ways: int) -> tuple[int, int]:
    """Find the way of a tile, and the first allowed way without an entry; -1 if there is none."""
    hit = empty = -1
    for way in range(s.config.ways):
        entry = row[way]
        if _is_found(entry, s.gpu.cycle):
            if entry.key == key and entry.context_number == owner:
                hit = way
                break
        elif empty < 0 and allowed_ways >> way & 1:
            empty = way
    return hit, empty


@inlined
def _count_change(s: GoldenState, bank: Record, owner: int, fresh: bool, freed: bool) -> None:
    """Count an entry that is made or freed. A count that is too large because of lost entries
    stays.
    """
    change = 0
    if fresh != freed and bank.entry_counts[owner] != s.config.full_bank:
        change = 1 if fresh else -1
        bank.entry_counts[owner] += change
    change_entries(s.contexts[owner].tracker, change, fresh and not freed)


@inlined
def update_entry(s: GoldenState, number: int, event: Record) -> int:
    """Change the table of bank `number` by an event in its update stage; return the error, or 0."""
    config, bank, tile = s.config, s.banks[number], event.tile
    dispatch_index, wavefront, owner = tile.dispatch_index, tile.wavefront, natural(tile.owner)
    upper = dispatch_index >> config.bank_bits
    row = s.entries[number, row_of(config, dispatch_index)]
    key = (upper >> config.row_bits) * (config.wavefront_mask + 1) + wavefront
    hit, empty = _find(s, row, key, owner, event.allowed_ways)
    if hit < 0 and empty < 0:
        return error(_SET_FULL, owner, dispatch_index, wavefront)
    fresh = hit < 0
    entry = row[natural(empty if fresh else hit)]
    known = 0 if fresh else entry.known
    missing = 0 if fresh else entry.missing
    balance = 0 if fresh else entry.balance
    outer = 0 if fresh else entry.entry_outer
    inner = 0 if fresh else entry.entry_inner
    first = config.atom_mask if fresh else entry.entry_start

    code = 0
    if tile.end:
        if tile.shares == 0:
            return error(_NO_SHARE, owner, dispatch_index, wavefront)
        missing = (missing if known else tile.total) - tile.shares
        known = 1
        balance -= tile.tile_atoms
        outer, inner = tile.outer_edge, tile.inner_edge
    else:
        first = min(first, tile.atom)
        balance += tile.count
    whole = known and missing == 0
    if balance > config.count_mask:
        code = _COUNT_OVERFLOW
    elif missing < 0 or (whole and balance > 0):
        code = _OVERRUN

    complete = whole and balance == 0
    freed = complete or code != 0
    _count_change(s, bank, owner, fresh, freed)
    if freed:
        clear_record(entry)
    else:
        entry.valid_entry = 1
        entry.context_number = owner
        entry.key = key
        entry.known, entry.missing = known, missing
        entry.balance = balance
        entry.entry_outer, entry.entry_inner = outer, inner
        entry.entry_start = first
        entry.entry_errors = entry_bit_errors(s.gpu.injection, number)
        entry.since = s.gpu.cycle + WRITE_CYCLES
    bank.wrote_cycle = s.gpu.cycle
    if complete:
        push_completion(s, bank, tile, first, outer, inner)
    return error(code, owner, dispatch_index, wavefront) if code else 0
