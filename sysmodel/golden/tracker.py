"""Tracker: the channels' arbitration for the banks, the banks, and the merge of completions."""

from rtl.layouts import ErrorCode
from sysmodel.compiled import compiled, inlined

from .address_map import error
from .queues import RECORD_WORDS, Q, copy_words, front, has, mark, natural, pick
from .state import BANK_WORDS, CHANNEL_WORDS, COMPLETION, ENTRY, TILE, UPDATES, B, C, K, U

__all__ = ["accept", "clear_bank", "offer", "step_front", "take_completion", "update_entry"]

_SET_FULL = ErrorCode.SET_FULL.value
_ZERO_THRESHOLD = ErrorCode.ZERO_THRESHOLD.value
_SECOND_TILE_END = ErrorCode.SECOND_TILE_END.value
_OVERRUN = ErrorCode.OVERRUN.value
_COUNT_OVERFLOW = ErrorCode.COUNT_OVERFLOW.value


@compiled
def update_entry(s, bank):
    """The update stage of the bank at word `bank` of the memory, if it holds an input.

    Returns
    -------
    int
        The error that it reports.
    """
    config, memory = s.config, s.memory
    if not memory[bank + B.staged]:
        return 0
    memory[bank + B.staged] = 0
    place, wavefront = memory[bank + B.place], memory[bank + B.wavefront]
    upper = place >> config[C.bank_bits]
    row = upper & (config[C.rows] - 1)
    tag = (upper >> config[C.row_bits]) * (config[C.wavefront_mask] + 1) + wavefront
    number = (bank - config[C.at_banks]) // BANK_WORDS
    at = config[C.at_rows] + (number * config[C.rows] + row) * config[C.ways] * len(ENTRY)

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
    entry = hit if hit >= 0 else empty
    if entry < 0:
        return error(_SET_FULL, place, wavefront)
    fresh = hit < 0
    count = 0 if fresh else memory[entry + ENTRY.count]
    sectors = 0 if fresh else memory[entry + ENTRY.sectors]
    row_edge = 0 if fresh else memory[entry + ENTRY.row_edge]
    run_edge = 0 if fresh else memory[entry + ENTRY.run_edge]
    start = config[C.atom_mask] if fresh else memory[entry + ENTRY.start]

    code = 0
    if memory[bank + B.end]:
        if memory[bank + B.sectors] == 0:
            return error(_ZERO_THRESHOLD, place, wavefront)
        if sectors:
            return error(_SECOND_TILE_END, place, wavefront)
        sectors = memory[bank + B.sectors]
        row_edge = memory[bank + B.row_edge]
        run_edge = memory[bank + B.run_edge]
    else:
        start = min(start, memory[bank + B.atom])
        count += memory[bank + B.count]
        if count > config[C.count_mask]:
            code = _COUNT_OVERFLOW
    threshold = sectors * config[C.updates_per_sector]
    complete = code == 0 and sectors != 0 and count == threshold
    if code == 0 and sectors != 0 and count > threshold:
        code = _OVERRUN

    if complete or code:
        for word in range(len(ENTRY)):
            memory[natural(entry + word)] = 0
    else:
        memory[entry + ENTRY.valid] = 1
        memory[entry + ENTRY.tag] = tag
        memory[entry + ENTRY.count] = count
        memory[entry + ENTRY.sectors] = sectors
        memory[entry + ENTRY.row_edge] = row_edge
        memory[entry + ENTRY.run_edge] = run_edge
        memory[entry + ENTRY.start] = start
    if complete:
        position = (memory[bank + B.head] + memory[bank + B.level]) & 3
        to = bank + B.body + position * RECORD_WORDS
        memory[to + COMPLETION.place] = place
        memory[to + COMPLETION.wavefront] = wavefront
        memory[to + COMPLETION.start] = start
        memory[to + COMPLETION.row_edge] = row_edge
        memory[to + COMPLETION.run_edge] = run_edge
        memory[bank + B.level] += 1
    return error(code, place, wavefront) if code else 0


@compiled
def clear_bank(s, bank, strobe):
    """Write the next row with zeros while ``clearing``; `strobe` begins anew."""
    config, memory = s.config, s.memory
    if memory[bank + B.clearing]:
        number = (bank - config[C.at_banks]) // BANK_WORDS
        words = config[C.ways] * len(ENTRY)
        at = config[C.at_rows] + (number * config[C.rows] + memory[bank + B.row]) * words
        for word in range(words):
            memory[at + word] = 0
        memory[bank + B.row] += 1
        if memory[bank + B.row] == config[C.rows]:
            memory[bank + B.clearing] = 0
    if strobe:
        memory[bank + B.clearing] = 1
        memory[bank + B.row] = 0
        memory[bank + B.staged] = 0


@inlined
def offer(s, bank):
    """Note whether the bank accepts in this cycle; before anything else touches it."""
    memory = s.memory
    memory[bank + B.ready] = not memory[bank + B.clearing] and memory[bank + B.level] <= 1
    memory[bank + B.best] = -1


@inlined
def accept(memory, bank, end, place, wavefront, atom, count, sectors, row_edge, run_edge):
    """An input for the update stage of the next cycle."""
    memory[bank + B.staged] = 1
    memory[bank + B.end] = end
    memory[bank + B.place] = place
    memory[bank + B.wavefront] = wavefront
    memory[bank + B.atom] = atom
    memory[bank + B.count] = count
    memory[bank + B.sectors] = sectors
    memory[bank + B.row_edge] = row_edge
    memory[bank + B.run_edge] = run_edge


@inlined
def _candidate(channel, k):
    """Which queue of the channel goes first, and where its head is; -1 if both are empty."""
    levels, heads = channel[k + K.levels], channel[k + K.heads]
    choice = pick(has(levels, Q.notices), has(levels, Q.ends), channel[k + K.front_last])
    queue = Q.ends if choice == 1 else Q.notices
    return choice, queue, front(k + K.body, heads, queue)


@inlined
def _grant(s, bank, number):
    """Move the candidate of channel `number` into the bank."""
    channel, memory = s.channels, s.memory
    k = natural(number * CHANNEL_WORDS)
    choice, queue, record = _candidate(channel, k)
    if choice == 1:
        copy_words(memory, bank, channel, record, len(TILE))
        memory[bank + B.staged] = 1
    else:
        accept(
            memory,
            bank,
            0,
            channel[record + UPDATES.place],
            channel[record + UPDATES.wavefront],
            channel[record + UPDATES.atom],
            channel[record + UPDATES.count],
            0,
            0,
            0,
        )
    channel[k + K.front_last] = choice
    channel[k + K.popped] += mark(queue)
    following = number + 1
    memory[bank + B.pointer] = following if following < s.config[C.channels] else 0


@inlined
def step_front(s):
    """Give each bank the first candidate at or after its pointer."""
    config, channel, memory = s.config, s.channels, s.memory
    channels = config[C.channels]
    banks = natural(config[C.at_banks])
    if channels == 1 and config[C.banks] == 1:
        levels = channel[K.levels]
        if (has(levels, Q.notices) or has(levels, Q.ends)) and memory[banks + B.ready]:
            _grant(s, banks, 0)
        return
    waiting = False
    for number in range(channels):
        k = natural(number * CHANNEL_WORDS)
        choice, _, record = _candidate(channel, k)
        if choice < 0:
            continue
        waiting = True
        place = channel[record + (TILE.place if choice == 1 else UPDATES.place)]
        wavefront = channel[record + (TILE.wavefront if choice == 1 else UPDATES.wavefront)]
        index = (place ^ config[config[C.at_turns] + wavefront]) & (config[C.banks] - 1)
        bank = banks + index * BANK_WORDS
        distance = number - memory[bank + B.pointer]
        if distance < 0:
            distance += channels
        if memory[bank + B.best] < 0 or distance < memory[bank + B.best]:
            memory[bank + B.best] = distance
            memory[bank + B.best_channel] = number
    if waiting:
        for index in range(config[C.banks]):
            bank = banks + index * BANK_WORDS
            if memory[bank + B.best] >= 0 and memory[bank + B.ready]:
                _grant(s, bank, memory[bank + B.best_channel])


@inlined
def take_completion(s):
    """Pop the first completion at or after the merge's pointer.

    Returns
    -------
    int
        Where the record is in the memory, or -1.
    """
    config, gpu, memory = s.config, s.gpu, s.memory
    index = gpu[U.bank_pointer]
    for _ in range(config[C.banks]):
        bank = natural(config[C.at_banks] + index * BANK_WORDS)
        index += 1
        if index == config[C.banks]:
            index = 0
        if memory[bank + B.level]:
            record = bank + B.body + memory[bank + B.head] * RECORD_WORDS
            memory[bank + B.head] = (memory[bank + B.head] + 1) & 3
            memory[bank + B.level] -= 1
            gpu[U.bank_pointer] = index
            return record
    return -1
