"""Tracker banks: events on their way to the table, the table, and the completions that come out."""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import compiled, inlined

from .errors import error
from .injection import CORRECTED, LOST, wrong_bits_of_entry
from .queues import natural
from .records import clear_record, copy_record
from .state import COMPLETIONS, EVENTS

__all__ = [
    "accept",
    "clear_bank",
    "comes_now",
    "count_entries",
    "drop_aborted",
    "has_events",
    "has_room",
    "is_awake",
    "is_being_forgotten",
    "is_clearing",
    "offer_completion",
    "read_row",
    "step_bank",
    "take_completion",
]

_SET_FULL = ErrorCode.SET_FULL.value
_ZERO_THRESHOLD = ErrorCode.ZERO_THRESHOLD.value
_SECOND_END_OF_TILE = ErrorCode.SECOND_END_OF_TILE.value
_OVERRUN = ErrorCode.OVERRUN.value
_COUNT_OVERFLOW = ErrorCode.COUNT_OVERFLOW.value
_CORRUPT = ErrorCode.TRACKER_CORRUPT.value
# Cycles from an event's choice to the comparison of its row and to the row's update.
_COMPARE, _UPDATE = 3, 4
_READ = 3  # cycles from the reading of an event's row to the row's update
_WRITE = 2  # cycles from a row's update to the first in which it is read from the memory
_WALK = 2  # cycles from a row's reading to its writing, by the walk over all rows
_MOST_WAITING = COMPLETIONS - (_UPDATE + 1)  # what is on its way finds room


@inlined
def has_room(bank):
    """Whether the bank takes an event in this cycle; before anything else touches it."""
    return not is_clearing(bank) and bank.level <= _MOST_WAITING


@inlined
def is_clearing(bank):
    """Whether the bank forgets something, of whatever context."""
    return bank.clearing | bank.pending | bank.forgetting != 0


@inlined
def is_being_forgotten(s, context):
    """Whether a bank forgets the context's tiles."""
    for index in range(s.config.banks):
        bank = s.banks[natural(index)]
        if bank.clearing or (bank.pending | bank.forgetting) >> context & 1:
            return True
    return False


@inlined
def _slot(cycle):
    """Where an event that was chosen in this cycle is in the bank's ring."""
    return cycle & (EVENTS - 1)


@inlined
def drop_aborted(s, bank):
    """Drop the event that comes in this cycle, if its context is aborted or being forgotten."""
    slot = _slot(s.gpu.cycle - 1)
    if bank.flying >> slot & 1:
        owner = natural(bank.events[slot].tile.owner)
        own = s.contexts[owner]
        if own.aborted or (bank.pending | bank.forgetting) >> owner & 1:
            bank.flying &= ~(1 << slot)
            own.flying -= 1


@inlined
def accept(s, bank, tile):
    """Take an event that was chosen in this cycle."""
    slot = _slot(s.gpu.cycle)
    copy_record(bank.events[slot].tile, tile)
    bank.flying |= 1 << slot
    s.contexts[natural(tile.owner)].flying += 1


@inlined
def _complete(s, bank, tile, start, outer_edge, inner_edge):
    """Push a completion; the front saw to it that there is room."""
    to = bank.completions[(bank.head + bank.level) & (COMPLETIONS - 1)]
    to.owner = tile.owner
    to.dispatch_index = tile.dispatch_index
    to.wavefront = tile.wavefront
    to.start = start
    to.outer_edge = outer_edge
    to.inner_edge = inner_edge
    bank.level += 1
    s.gpu.completions += 1
    s.contexts[natural(tile.owner)].completions += 1


@inlined
def _is_there(s, entry):
    """Whether an event in its update stage finds the entry: not if it was lost when the event's
    row was read."""
    return entry.valid and not (entry.wrong == LOST and entry.since <= s.gpu.cycle - _READ)


@inlined
def _row_of(s, dispatch_index):
    return natural(dispatch_index >> s.config.bank_bits & (s.config.rows - 1))


@inlined
def _check_row(s, number, row):
    """A row is read in this cycle, and corrected in the next one; gives the ways in which it has
    lost an entry."""
    lost = 0
    for way in range(s.config.ways):
        entry = s.entries[natural(number), natural(row), way]
        if entry.wrong and entry.since <= s.gpu.cycle:
            lost |= (entry.wrong == LOST) << way
            s.gpu.corrected_next |= entry.wrong == CORRECTED
    return lost


@compiled
def read_row(s, number, comes):
    """The row that is read in this cycle, after the bank has changed its table.

    Parameters
    ----------
    comes : bool
        An event came in this cycle, also one that is dropped.
    """
    bank = s.banks[natural(number)]
    if comes:
        event = bank.events[_slot(s.gpu.cycle - 1)]
        event.lost = _check_row(s, number, _row_of(s, event.tile.dispatch_index))
    elif bank.forgetting and bank.row < s.config.rows:
        _check_row(s, number, bank.row)


@inlined
def _update(s, number, event):
    """Change the table of bank `number` by an event; gives the error."""
    config, tile = s.config, event.tile
    dispatch_index, wavefront, owner = tile.dispatch_index, tile.wavefront, natural(tile.owner)
    own = s.contexts[owner]
    upper = dispatch_index >> config.bank_bits
    row = _row_of(s, dispatch_index)
    tag = (upper >> config.row_bits) * (config.wavefront_mask + 1) + wavefront

    hit = -1
    empty = -1
    for way in range(config.ways):
        entry = s.entries[number, row, way]
        if _is_there(s, entry):
            if entry.tag == tag and entry.owner == owner:
                hit = way
                break
        elif empty < 0 and event.ways >> way & 1:
            empty = way
    if hit < 0 and empty < 0:
        return error(_SET_FULL, owner, dispatch_index, wavefront)
    entry = s.entries[number, row, natural(hit if hit >= 0 else empty)]
    fresh = hit < 0
    ended = 0 if fresh else entry.ended
    balance = 0 if fresh else entry.balance
    outer_edge = 0 if fresh else entry.outer_edge
    inner_edge = 0 if fresh else entry.inner_edge
    start = config.atom_mask if fresh else entry.start

    code = 0
    if tile.end:
        if tile.tile_atoms == 0:
            return error(_ZERO_THRESHOLD, owner, dispatch_index, wavefront)
        if ended:
            return error(_SECOND_END_OF_TILE, owner, dispatch_index, wavefront)
        ended = 1
        balance -= event.threshold
        outer_edge = tile.outer_edge
        inner_edge = tile.inner_edge
    else:
        start = min(start, tile.atom)
        balance += tile.count
        if not ended and balance > config.count_mask:
            code = _COUNT_OVERFLOW
    if ended and balance > 0:
        code = _OVERRUN

    complete = ended and balance == 0
    gone = complete or code != 0
    # A count that lost entries have made too large stays.
    if fresh != gone and s.banks[number].in_use[owner] != config.full_bank:
        change = 1 if fresh else -1
        s.banks[number].in_use[owner] += change
        own.entries_change += change
    own.entries_moved |= fresh and not gone
    if gone:
        clear_record(entry)
    else:
        entry.valid = 1
        entry.owner = owner
        entry.tag = tag
        entry.ended = ended
        entry.balance = balance
        entry.outer_edge = outer_edge
        entry.inner_edge = inner_edge
        entry.start = start
        entry.wrong = wrong_bits_of_entry(s, number)
        entry.since = s.gpu.cycle + _WRITE
    s.banks[number].wrote = s.gpu.cycle
    if complete:
        _complete(s, s.banks[number], tile, start, outer_edge, inner_edge)
    return error(code, owner, dispatch_index, wavefront) if code else 0


@inlined
def step_bank(s, number):
    """One cycle of a bank's events on their way, the one chosen in this cycle among them.

    An event changes the table at once in its update stage: so it sees what all before it left.

    Returns
    -------
    int
        The error that the update stage reports.
    """
    bank, cycle = s.banks[natural(number)], s.gpu.cycle
    compared, updated = _slot(cycle - _COMPARE), _slot(cycle - _UPDATE)
    flying = bank.flying
    if flying >> compared & 1:
        event = bank.events[compared]
        own = s.contexts[natural(event.tile.owner)]
        event.threshold = event.tile.tile_atoms * own.launch.updates_per_atom
        event.ways = own.ways
    if flying >> updated & 1:
        bank.flying = flying & ~(1 << updated)
        s.contexts[natural(bank.events[updated].tile.owner)].flying -= 1
        event = bank.events[updated]
        failure = _update(s, natural(number), event)
        if event.lost & event.ways:
            tile = event.tile
            return error(_CORRUPT, natural(tile.owner), tile.dispatch_index, tile.wavefront)
        return failure
    return 0


@inlined
def _drop(s, bank, clear):
    """Lose the events on their way of the contexts that are cleared; the one that was chosen in
    this cycle is dropped as it comes."""
    for slot in range(EVENTS):
        if slot == _slot(s.gpu.cycle):
            continue
        if bank.flying >> slot & 1 and clear >> bank.events[slot].tile.owner & 1:
            bank.flying &= ~(1 << slot)
            s.contexts[natural(bank.events[slot].tile.owner)].flying -= 1


@inlined
def _forget(s, number, bank, row):
    """Clear the entries of a row that are those of the contexts in ``forgetting``, or lost."""
    for way in range(s.config.ways):
        entry = s.entries[natural(number), natural(row), way]
        if entry.valid and (bank.forgetting >> entry.owner & 1 or entry.wrong == LOST):
            clear_record(entry)
        if not entry.valid:
            bank.wrote = s.gpu.cycle


@compiled
def clear_bank(s, number, clear, comes):
    """Clear the bank's next row after reset, or move the walk on that forgets contexts.

    It comes last in a cycle.

    Parameters
    ----------
    clear : int
        Strobes: a bit for each context that is to be forgotten, from the events on their way on.
    comes : bool
        Events were on their way at the cycle's start, other than one that was chosen in it.
    """
    bank, rows = s.banks[natural(number)], s.config.rows
    starts = bank.pending != 0 and not bank.forgetting and not bank.clearing and not comes
    if bank.clearing:
        for way in range(s.config.ways):
            clear_record(s.entries[natural(number), natural(bank.row), way])
        bank.row += 1
        if bank.row == rows:
            bank.clearing = 0
    elif bank.forgetting:
        # A row is read two cycles before it is written.
        row = bank.row - _WALK
        if row >= 0:
            _forget(s, number, bank, row)
        bank.row += 1
        if bank.row == rows + _WALK:
            bank.forgetting = 0
    if starts:
        bank.forgetting = bank.pending
        bank.pending = 0
        bank.row = 0
    bank.pending |= clear
    if clear:
        _drop(s, bank, clear)


@inlined
def comes_now(s, bank):
    """Whether an event comes into the bank in this cycle; before it may be dropped."""
    return bank.flying >> _slot(s.gpu.cycle - 1) & 1 != 0


@inlined
def has_events(s, bank):
    """Whether events are on their way that were chosen before this cycle."""
    return bank.flying & ~(1 << _slot(s.gpu.cycle)) != 0


@inlined
def is_awake(s, bank, comes):
    """Whether the bank is; before its cycle, and whether or not what ``comes`` is dropped. What it
    reads and writes is on its way for two cycles more."""
    came, gave = bank.came, bank.gave
    bank.came, bank.gave = (came << 1 | comes) & 3, 0
    busy = has_events(s, bank) or is_clearing(bank) or bank.wrote >= s.gpu.cycle - _WRITE
    return busy or came | gave | bank.walks | bank.fixes | s.gpu.arms != 0


@inlined
def count_entries(s, context, clear):
    """Count what the last cycle changed; before the banks' own cycle."""
    own, bank = s.contexts[context], s.banks[0]
    clearing = bank.clearing or (bank.pending | bank.forgetting) >> context & 1
    if clear or clearing:
        own.entries = 0
        for index in range(s.config.banks):
            s.banks[index].in_use[context] = 0
    else:
        own.entries += own.entries_change
    own.entries_change = 0


@inlined
def offer_completion(s):
    """Find the first completion at or after the merge's pointer; it is offered in this cycle."""
    config, gpu = s.config, s.gpu
    gpu.offered = -1
    if gpu.completions:
        index = natural(gpu.bank_pointer)
        while s.banks[index].level == 0:
            index = index + 1 if index + 1 < config.banks else 0
        gpu.offered = index


@inlined
def take_completion(s, context):
    """Pop the completion that is offered, if it is the context's.

    Returns
    -------
    bank, completion : int
        Where its record is; a negative bank if there is none.
    """
    config, gpu = s.config, s.gpu
    if gpu.offered < 0:
        return -1, 0
    index = natural(gpu.offered)
    bank = s.banks[index]
    completion = natural(bank.head)
    if bank.completions[completion].owner != context:
        return -1, 0
    bank.head = (bank.head + 1) & (COMPLETIONS - 1)
    bank.level -= 1
    bank.gave = 1
    gpu.completions -= 1
    s.contexts[context].completions -= 1
    gpu.offered = -1
    gpu.bank_pointer = index + 1 if index + 1 < config.banks else 0
    return index, completion
