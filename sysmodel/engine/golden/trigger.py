"""Trigger unit: counts complete tiles of a workgroup, and releases DMA commands."""

from rtl.interface.encodings import Action, ErrorCode, Granularity
from sysmodel.lib.compiled import compiled, inlined

from .address_map import range_of
from .errors import error
from .injection import COMMANDS, CORRECTED, GROUPS, LOST, TILES, wrong_bits
from .patrol import step_rows, walks
from .protected_queue import can_push, leaving, oldest, push_at, step_queue
from .queues import natural
from .records import clear_record, copy_record
from .rooms import UNIT
from .tracker_bank import take_completion

__all__ = [
    "CLEARING",
    "GROUP",
    "IDLE",
    "begin_clearing",
    "patrol_rows",
    "push_ready",
    "step_ready",
    "step_trigger",
]

CLEARING, IDLE, _LOOKUP, _TILE, GROUP, _RELEASE = range(6)
_NONE, _DMA = Action.NONE.value, Action.DMA.value
_WORKGROUP = Granularity.WORKGROUP.value
_CORRUPT = ErrorCode.TRIGGER_CORRUPT.value


@inlined
def _row(s, context, dispatch_index):
    """The memories' row of a dispatch index."""
    return s.table[context, natural(dispatch_index & (s.config.credit_window_slots - 1))]


@compiled
def push_ready(s, context, command, dispatch_index, wavefront, start, outer_edge, inner_edge, last):
    """Write a ready command behind the queue's last; True if there was room."""
    queue, depth = s.contexts[context].ready, s.config.depth
    if not can_push(queue, depth):
        return False
    at = push_at(queue, depth)
    bits = wrong_bits(s, COMMANDS, context)
    if bits | queue.has_wrong:
        s.ready_wrong[context, at] = bits
        queue.has_wrong = 1
    to = s.ready[context, at]
    to.command = command
    to.dispatch_index = dispatch_index
    to.wavefront = wavefront
    to.start = start
    to.outer_edge = outer_edge
    to.inner_edge = inner_edge
    to.last = last
    return True


@inlined
def step_ready(s, context, pushed, popped):
    """Move the queue of ready commands on by one cycle."""
    own, queue = s.contexts[context], s.contexts[context].ready
    lost = queue.has_wrong and _check(s, context)
    if step_queue(queue, s.config.depth, pushed, popped, lost):
        own.awake |= UNIT.trigger


@inlined
def _check(s, context):
    """The command that leaves the memory is corrected, or lost; gives whether it is."""
    own, queue = s.contexts[context], s.contexts[context].ready
    at = leaving(queue, s.config.depth)
    if at < 0 or s.ready_wrong[context, at] == 0:
        return False
    bits = s.ready_wrong[context, at]
    s.ready_wrong[context, at] = 0
    if bits == CORRECTED:
        s.gpu.corrected = 1
        return False
    lost = s.ready[context, at]
    if own.corrupt == 0:
        # It is told as it reads: the second bit may be one of the dispatch index.
        turned = s.config.commands <= 2
        own.corrupt = error(_CORRUPT, context, lost.dispatch_index ^ turned, lost.wavefront)
    if queue.checked:
        copy_record(lost, s.ready[context, oldest(queue)])
    return bits == LOST


@compiled
def begin_clearing(s, context):
    s.contexts[context].awake |= UNIT.trigger
    trigger = s.contexts[context].trigger
    trigger.state = CLEARING
    trigger.row = 0
    trigger.taken = 0


@inlined
def _take(s, context):
    """Take a completion if one is offered; it waits for LOOKUP."""
    own = s.contexts[context]
    if own.aborted:
        return
    bank, index = take_completion(s, context)
    if bank >= 0:
        own.tiles = (own.tiles + 1) & 0xFFFFFFFF
        own.trigger.taken = 1
        copy_record(own.trigger.next, s.banks[bank].completions[index])


@inlined
def _read_row(s, context, rewritten):
    """What was taken has its row read in this cycle, and corrected in the next one.

    Parameters
    ----------
    rewritten : int
        Dispatch index of the row that is written in this cycle, or -1.
    """
    trigger = s.contexts[context].trigger
    if trigger.taken:
        row = trigger.next.dispatch_index & (s.config.credit_window_slots - 1)
        is_new = rewritten >= 0 and rewritten & (s.config.credit_window_slots - 1) == row
        trigger.row_wrong = 0 if is_new else s.table[context, natural(row)].wrong
        s.gpu.corrected_next |= trigger.row_wrong == CORRECTED


@inlined
def _go_idle(trigger):
    """Be done with a completion; the next one may have been taken already."""
    trigger.state = _LOOKUP if trigger.taken else IDLE


@inlined
def _look_up(s, context):
    """State LOOKUP: the completion's range, and its command as it is in this cycle."""
    trigger, completion = s.contexts[context].trigger, s.contexts[context].trigger.completion
    trigger.taken = 0
    copy_record(completion, trigger.next)
    trigger.state = _TILE
    index = range_of(s, context, -1, completion.dispatch_index)
    if index < 0:
        trigger.action = _NONE
        return
    entry = s.ranges[context, index]
    command = s.commands[context, natural(entry.command)]
    trigger.action = entry.action
    trigger.command = entry.command
    trigger.granularity = command.granularity
    trigger.waves = command.waves[natural(completion.inner_edge * 2 + completion.outer_edge)]
    log2 = command.group_log2
    first = entry.first
    first += ((completion.dispatch_index - first) >> log2) << log2
    trigger.group_first = first
    trigger.group_size = min(1 << log2, entry.last - first + 1)


@inlined
def _count_tile(s, context):
    """State TILE.

    Returns
    -------
    pushed : bool
    complete : int
        Dispatch index of the workgroup that is complete, or -1.
    own : bool
    """
    trigger, completion = s.contexts[context].trigger, s.contexts[context].trigger.completion
    lost = trigger.row_wrong == LOST
    _take(s, context)
    _go_idle(trigger)
    dispatch_index = completion.dispatch_index
    counts = trigger.action != _NONE and not lost
    trigger.wrote = trigger.written = counts
    _read_row(s, context, dispatch_index if counts else -1)
    if not counts:
        if trigger.action != _NONE:
            wavefront = completion.wavefront
            s.contexts[context].corrupt = error(_CORRUPT, context, dispatch_index, wavefront)
        return False, -1, False
    row = _row(s, context, dispatch_index)
    row.wrong = wrong_bits(s, TILES, context)
    outer_edge, inner_edge = completion.outer_edge, completion.inner_edge
    tiles = row.tiles
    row.start = completion.start if tiles == 0 else min(row.start, completion.start)
    row.outer_edge = outer_edge
    row.inner_edge = inner_edge
    full = tiles + 1 == trigger.waves
    row.tiles = 0 if full else (tiles + 1) & 15

    dma = trigger.action == _DMA
    workgroup = trigger.granularity == _WORKGROUP
    pushed = False
    if dma and not workgroup:
        pushed = push_ready(
            s,
            context,
            trigger.command,
            dispatch_index,
            completion.wavefront,
            completion.start,
            outer_edge,
            inner_edge,
            full,
        )
    if full and dma and workgroup:
        trigger.state = GROUP
        trigger.group_seen = _row(s, context, trigger.group_first).group_wrong
    return pushed, dispatch_index if full else -1, full and not dma


@inlined
def step_trigger(s, context):
    """One cycle; returns as :func:`_count_tile`."""
    own, trigger = s.contexts[context], s.contexts[context].trigger
    state = trigger.state
    # What was written is looked at in the next cycle.
    if state != IDLE or trigger.written:
        own.awake |= UNIT.trigger
    trigger.written = 0
    if state == IDLE:
        _take(s, context)
        if trigger.taken:
            own.awake |= UNIT.trigger
        _go_idle(trigger)
        _read_row(s, context, -1)
    elif state == _LOOKUP:
        _look_up(s, context)
    elif state == _TILE:
        return _count_tile(s, context)
    elif state == GROUP:
        row = _row(s, context, trigger.group_first)
        trigger.wrote = trigger.written = trigger.group_seen != LOST
        trigger.row_seen = row.wrong
        if trigger.group_seen == LOST:
            lost = trigger.completion.dispatch_index
            s.contexts[context].corrupt = error(_CORRUPT, context, lost, 0)
            _go_idle(trigger)
            return False, -1, False
        s.gpu.corrected |= trigger.group_seen == CORRECTED
        row.group_wrong = wrong_bits(s, GROUPS, context)
        count = row.group + 1
        if count == trigger.group_size:
            row.group = 0
            trigger.group_index = 0
            trigger.state = _RELEASE
        else:
            row.group = count & 255
            _go_idle(trigger)
    elif state == _RELEASE:
        dispatch_index = trigger.group_first + trigger.group_index
        row = _row(s, context, dispatch_index)
        s.gpu.corrected |= trigger.row_seen == CORRECTED
        pushed = False
        if trigger.row_seen == LOST:
            s.contexts[context].corrupt = error(_CORRUPT, context, dispatch_index, 0)
        else:
            pushed = push_ready(
                s,
                context,
                trigger.command,
                dispatch_index,
                0,
                row.start,
                row.outer_edge,
                row.inner_edge,
                1,
            )
        trigger.row_seen = _row(s, context, dispatch_index + 1).wrong
        trigger.group_index += 1
        if trigger.group_index == trigger.group_size:
            _go_idle(trigger)
        return pushed, -1, False
    else:
        row = s.table[context, natural(trigger.row)]
        clear_record(row)
        row.wrong = wrong_bits(s, TILES, context)
        row.group_wrong = wrong_bits(s, GROUPS, context)
        trigger.row += 1
        trigger.written = 1
        if trigger.row == s.config.credit_window_slots:
            trigger.state = IDLE
    return False, -1, False


@compiled
def patrol_rows(s, context, state, takes):
    """Both memories' walks, after the unit's own cycle.

    Parameters
    ----------
    state : int
        At the cycle's start.
    takes : bool
        A completion was taken in it.
    """
    trigger, clears = s.contexts[context].trigger, state == CLEARING
    if walks(s, trigger.row_walk) or walks(s, trigger.group_walk):
        s.contexts[context].awake |= UNIT.trigger
    wrote = trigger.wrote != 0
    row = s.table[context, natural(trigger.row_walk.row)]
    reads = takes or state == GROUP or state == _RELEASE
    writes = clears or (state == _TILE and wrote)
    if step_rows(s, trigger.row_walk, reads, writes, row.wrong):
        row.wrong = 0
    row = s.table[context, natural(trigger.group_walk.row)]
    writes = clears or (state == GROUP and wrote)
    if step_rows(s, trigger.group_walk, state == _TILE, writes, row.group_wrong):
        row.group_wrong = 0
