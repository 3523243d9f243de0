"""Trigger unit: counts complete tiles of a workgroup, and releases DMA commands."""

from rtl.interface.encodings import Action, Granularity
from sysmodel.lib.compiled import compiled, inlined

from .address_map import range_of
from .protected_queue import can_push, push_at, step_queue
from .queues import natural
from .records import clear_record, copy_record
from .tracker_bank import take_completion

__all__ = ["CLEARING", "IDLE", "begin_clearing", "push_ready", "step_ready", "step_trigger"]

CLEARING, IDLE, _LOOKUP, _TILE, _GROUP, _RELEASE = range(6)
_NONE, _DMA = Action.NONE.value, Action.DMA.value
_WORKGROUP = Granularity.WORKGROUP.value


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
    to = s.ready[context, push_at(queue, depth)]
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
    step_queue(s.contexts[context].ready, s.config.depth, pushed, popped)


@compiled
def begin_clearing(s, context):
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
    _take(s, context)
    _go_idle(trigger)
    if trigger.action == _NONE:
        return False, -1, False
    dispatch_index = completion.dispatch_index
    row = _row(s, context, dispatch_index)
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
        trigger.state = _GROUP
    return pushed, dispatch_index if full else -1, full and not dma


@inlined
def step_trigger(s, context):
    """One cycle; returns as :func:`_count_tile`."""
    trigger = s.contexts[context].trigger
    state = trigger.state
    if state == IDLE:
        _take(s, context)
        _go_idle(trigger)
    elif state == _LOOKUP:
        _look_up(s, context)
    elif state == _TILE:
        return _count_tile(s, context)
    elif state == _GROUP:
        row = _row(s, context, trigger.group_first)
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
        trigger.group_index += 1
        if trigger.group_index == trigger.group_size:
            _go_idle(trigger)
        return pushed, -1, False
    else:
        clear_record(s.table[context, natural(trigger.row)])
        trigger.row += 1
        if trigger.row == s.config.credit_window_slots:
            trigger.state = IDLE
    return False, -1, False
