"""Tracker banks: events on their way to the table, the table, and the completions that come out."""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import compiled, inlined

from .address_map import error
from .queues import RECORD_WORDS, copy_words, natural
from .state import BANK_WORDS, COMPLETION, COMPLETIONS, ENTRY, EVENT, EVENTS, TILE, B, C, U

__all__ = ["accept", "clear_bank", "count_entries", "has_room", "step_bank", "take_completion"]

_SET_FULL = ErrorCode.SET_FULL.value
_ZERO_THRESHOLD = ErrorCode.ZERO_THRESHOLD.value
_SECOND_END_OF_TILE = ErrorCode.SECOND_END_OF_TILE.value
_OVERRUN = ErrorCode.OVERRUN.value
_COUNT_OVERFLOW = ErrorCode.COUNT_OVERFLOW.value
# Cycles from an event's choice to the comparison of its row and to the row's update.
_COMPARE, _UPDATE = 3, 4
_MOST_WAITING = COMPLETIONS - (_UPDATE + 1)  # what is on its way finds room


@inlined
def has_room(memory, bank):
    """Whether the bank takes an event in this cycle; before anything else touches it."""
    return not memory[bank + B.clearing] and memory[bank + B.level] <= _MOST_WAITING


@inlined
def _slot(cycle):
    """Where an event that was chosen in this cycle is in the bank's ring."""
    return cycle & (EVENTS - 1)


@inlined
def _event(bank, slot):
    return natural(bank + B.body + (COMPLETIONS + slot) * RECORD_WORDS)


@inlined
def accept(s, bank, source, at):
    """Take the event whose record is at this word of `source`, chosen in this cycle."""
    memory = s.memory
    slot = _slot(s.gpu[U.cycle])
    copy_words(memory, _event(bank, slot), source, at, len(TILE))
    memory[bank + B.flying] |= 1 << slot


@compiled
def _rows(config, bank):
    """Where the rows of the bank begin."""
    number = (bank - config[C.at_banks]) // BANK_WORDS
    return natural(config[C.at_rows] + number * config[C.rows] * config[C.ways] * len(ENTRY))


@compiled
def _complete(s, bank, event, start, outer_edge, inner_edge):
    """Push a completion; the front saw to it that there is room."""
    memory = s.memory
    position = (memory[bank + B.head] + memory[bank + B.level]) & (COMPLETIONS - 1)
    to = natural(bank + B.body + position * RECORD_WORDS)
    memory[to + COMPLETION.dispatch_index] = memory[event + EVENT.dispatch_index]
    memory[to + COMPLETION.wavefront] = memory[event + EVENT.wavefront]
    memory[to + COMPLETION.start] = start
    memory[to + COMPLETION.outer_edge] = outer_edge
    memory[to + COMPLETION.inner_edge] = inner_edge
    memory[bank + B.level] += 1
    s.gpu[U.completions] += 1


@compiled
def _update(s, bank, event):
    """Change the table by the event at this word of the memory; gives the error."""
    config, memory = s.config, s.memory
    dispatch_index, wavefront = (
        memory[event + EVENT.dispatch_index],
        memory[event + EVENT.wavefront],
    )
    upper = dispatch_index >> config[C.bank_bits]
    row = upper & (config[C.rows] - 1)
    tag = (upper >> config[C.row_bits]) * (config[C.wavefront_mask] + 1) + wavefront
    at = _rows(config, bank) + row * config[C.ways] * len(ENTRY)

    hit = -1
    empty = -1
    for way in range(config[C.ways]):
        entry = natural(at + way * len(ENTRY))
        if memory[entry + ENTRY.valid]:
            if memory[entry + ENTRY.tag] == tag:
                hit = entry
                break
        elif empty < 0:
            empty = entry
    entry = natural(hit if hit >= 0 else empty)
    if hit < 0 and empty < 0:
        return error(_SET_FULL, dispatch_index, wavefront)
    fresh = hit < 0
    ended = 0 if fresh else memory[entry + ENTRY.ended]
    balance = 0 if fresh else memory[entry + ENTRY.balance]
    outer_edge = 0 if fresh else memory[entry + ENTRY.outer_edge]
    inner_edge = 0 if fresh else memory[entry + ENTRY.inner_edge]
    start = config[C.atom_mask] if fresh else memory[entry + ENTRY.start]

    code = 0
    if memory[event + EVENT.end]:
        if memory[event + EVENT.tile_atoms] == 0:
            return error(_ZERO_THRESHOLD, dispatch_index, wavefront)
        if ended:
            return error(_SECOND_END_OF_TILE, dispatch_index, wavefront)
        ended = 1
        balance -= memory[event + EVENT.threshold]
        outer_edge = memory[event + EVENT.outer_edge]
        inner_edge = memory[event + EVENT.inner_edge]
    else:
        start = min(start, memory[event + EVENT.atom])
        balance += memory[event + EVENT.count]
        if not ended and balance > config[C.count_mask]:
            code = _COUNT_OVERFLOW
    if ended and balance > 0:
        code = _OVERRUN

    complete = ended and balance == 0
    gone = complete or code != 0
    s.gpu[U.entries_change] += int(fresh) - int(gone)
    if gone:
        for word in range(len(ENTRY)):
            memory[entry + word] = 0
    else:
        memory[entry + ENTRY.valid] = 1
        memory[entry + ENTRY.tag] = tag
        memory[entry + ENTRY.ended] = ended
        memory[entry + ENTRY.balance] = balance
        memory[entry + ENTRY.outer_edge] = outer_edge
        memory[entry + ENTRY.inner_edge] = inner_edge
        memory[entry + ENTRY.start] = start
    if complete:
        _complete(s, bank, event, start, outer_edge, inner_edge)
    return error(code, dispatch_index, wavefront) if code else 0


@compiled
def step_bank(s, bank):
    """One cycle of the events on their way, the one chosen in this cycle among them.

    An event changes the table at once in its update stage: so it sees what all before it left.

    Returns
    -------
    int
        The error that the update stage reports.
    """
    config, memory, cycle = s.config, s.memory, s.gpu[U.cycle]
    compared, updated = _slot(cycle - _COMPARE), _slot(cycle - _UPDATE)
    flying = memory[bank + B.flying]
    if flying >> compared & 1:
        event = _event(bank, compared)
        tile_atoms = memory[event + EVENT.tile_atoms]
        memory[event + EVENT.threshold] = tile_atoms * config[C.updates_per_atom]
    if flying >> updated & 1:
        memory[bank + B.flying] = flying & ~(1 << updated)
        return _update(s, bank, _event(bank, updated))
    return 0


@compiled
def clear_bank(s, bank, strobe):
    """Write the next row with zeros while ``clearing``; `strobe` begins anew.

    The events on their way are lost with it, so it comes last in a cycle.
    """
    config, memory = s.config, s.memory
    if memory[bank + B.clearing]:
        words = config[C.ways] * len(ENTRY)
        at = _rows(config, bank) + memory[bank + B.row] * words
        for word in range(words):
            memory[at + word] = 0
        memory[bank + B.row] += 1
        if memory[bank + B.row] == config[C.rows]:
            memory[bank + B.clearing] = 0
    if strobe:
        memory[bank + B.clearing] = 1
        memory[bank + B.row] = 0
        memory[bank + B.flying] = 0


@inlined
def count_entries(s, clear):
    """Count what the last cycle changed; before the banks' own cycle."""
    gpu = s.gpu
    if clear or s.memory[s.config[C.at_banks] + B.clearing]:
        gpu[U.entries] = 0
    else:
        gpu[U.entries] += gpu[U.entries_change]
    gpu[U.entries_change] = 0


@inlined
def take_completion(s):
    """Pop the first completion at or after the merge's pointer.

    Returns
    -------
    int
        Where the record is in the memory, or -1.
    """
    config, gpu, memory = s.config, s.gpu, s.memory
    if gpu[U.completions] == 0:
        return -1
    index = gpu[U.bank_pointer]
    bank = natural(config[C.at_banks] + index * BANK_WORDS)
    while memory[bank + B.level] == 0:
        index = index + 1 if index + 1 < config[C.banks] else 0
        bank = natural(config[C.at_banks] + index * BANK_WORDS)
    record = natural(bank + B.body + memory[bank + B.head] * RECORD_WORDS)
    memory[bank + B.head] = (memory[bank + B.head] + 1) & (COMPLETIONS - 1)
    memory[bank + B.level] -= 1
    gpu[U.completions] -= 1
    gpu[U.bank_pointer] = index + 1 if index + 1 < config[C.banks] else 0
    return record
