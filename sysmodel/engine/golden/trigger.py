"""Trigger unit: counts complete tiles of a workgroup, and releases DMA commands."""

from rtl.interface.encodings import Action, Granularity
from sysmodel.lib.compiled import compiled, inlined

from .address_map import range_of
from .protected_queue import can_push, push_at, step_queue
from .queues import natural
from .state import COMMAND, COMPLETION, RANGE, READY, TABLE, C, U
from .tracker_bank import take_completion

__all__ = ["CLEARING", "IDLE", "begin_clearing", "push_ready", "step_ready", "step_trigger"]

CLEARING, IDLE, _LOOKUP, _TILE, _GROUP, _RELEASE = range(6)
_NONE, _DMA = Action.NONE.value, Action.DMA.value
_WORKGROUP = Granularity.WORKGROUP.value


@inlined
def _row(config, dispatch_index):
    """Where the memories' row of a dispatch index is."""
    return natural(
        config[C.at_table] + (dispatch_index & (config[C.credit_window_slots] - 1)) * len(TABLE)
    )


@compiled
def push_ready(s, command, dispatch_index, wavefront, start, outer_edge, inner_edge, last):
    """Write a ready command behind the queue's last; True if there was room."""
    config, gpu, memory = s.config, s.gpu, s.memory
    if not can_push(gpu, U.ready_head, config[C.depth]):
        return False
    to = config[C.at_ready] + push_at(gpu, U.ready_head, config[C.depth]) * len(READY)
    memory[to + READY.command] = command
    memory[to + READY.dispatch_index] = dispatch_index
    memory[to + READY.wavefront] = wavefront
    memory[to + READY.start] = start
    memory[to + READY.outer_edge] = outer_edge
    memory[to + READY.inner_edge] = inner_edge
    memory[to + READY.last] = last
    return True


@inlined
def step_ready(s, pushed, popped):
    """Move the queue of ready commands on by one cycle."""
    step_queue(s.gpu, U.ready_head, s.config[C.depth], pushed, popped)


@compiled
def begin_clearing(s):
    s.gpu[U.trigger_state] = CLEARING
    s.gpu[U.trigger_row] = 0
    s.gpu[U.taken] = 0


@inlined
def _take(s):
    """Take a completion if one is offered; it waits for LOOKUP."""
    gpu, memory = s.gpu, s.memory
    record = take_completion(s)
    if record >= 0:
        gpu[U.tiles] = (gpu[U.tiles] + 1) & 0xFFFFFFFF
        gpu[U.taken] = 1
        gpu[U.taken_dispatch_index] = memory[record + COMPLETION.dispatch_index]
        gpu[U.taken_wavefront] = memory[record + COMPLETION.wavefront]
        gpu[U.taken_start] = memory[record + COMPLETION.start]
        gpu[U.taken_outer_edge] = memory[record + COMPLETION.outer_edge]
        gpu[U.taken_inner_edge] = memory[record + COMPLETION.inner_edge]


@inlined
def _go_idle(gpu):
    """Be done with a completion; the next one may have been taken already."""
    gpu[U.trigger_state] = _LOOKUP if gpu[U.taken] else IDLE


@compiled
def _look_up(s):
    """State LOOKUP: the completion's range, and its command as it is in this cycle."""
    config, gpu = s.config, s.gpu
    gpu[U.taken] = 0
    gpu[U.dispatch_index] = gpu[U.taken_dispatch_index]
    gpu[U.wavefront] = gpu[U.taken_wavefront]
    gpu[U.start] = gpu[U.taken_start]
    gpu[U.outer_edge] = gpu[U.taken_outer_edge]
    gpu[U.inner_edge] = gpu[U.taken_inner_edge]
    gpu[U.trigger_state] = _TILE
    entry = range_of(config, -1, gpu[U.dispatch_index])
    if entry < 0:
        gpu[U.action] = _NONE
        return
    number = config[entry + RANGE.command]
    command = natural(config[C.at_commands] + number * len(COMMAND))
    gpu[U.action] = config[entry + RANGE.action]
    gpu[U.command] = number
    gpu[U.granularity] = config[command + COMMAND.granularity]
    edges = gpu[U.inner_edge] * 2 + gpu[U.outer_edge]
    gpu[U.waves] = config[command + COMMAND.waves_0 + edges]
    log2 = config[command + COMMAND.group_log2]
    first = config[entry + RANGE.first]
    first += ((gpu[U.dispatch_index] - first) >> log2) << log2
    gpu[U.group_first] = first
    gpu[U.group_size] = min(1 << log2, config[entry + RANGE.last] - first + 1)


@compiled
def _count_tile(s):
    """State TILE.

    Returns
    -------
    pushed : bool
    complete : int
        Dispatch index of the workgroup that is complete, or -1.
    own : bool
    """
    config, gpu, memory = s.config, s.gpu, s.memory
    _take(s)
    _go_idle(gpu)
    if gpu[U.action] == _NONE:
        return False, -1, False
    dispatch_index = gpu[U.dispatch_index]
    row = _row(config, dispatch_index)
    outer_edge, inner_edge = gpu[U.outer_edge], gpu[U.inner_edge]
    tiles = memory[row + TABLE.tiles]
    first = memory[row + TABLE.start]
    memory[row + TABLE.start] = gpu[U.start] if tiles == 0 else min(first, gpu[U.start])
    memory[row + TABLE.outer_edge] = outer_edge
    memory[row + TABLE.inner_edge] = inner_edge
    full = tiles + 1 == gpu[U.waves]
    memory[row + TABLE.tiles] = 0 if full else (tiles + 1) & 15

    dma = gpu[U.action] == _DMA
    workgroup = gpu[U.granularity] == _WORKGROUP
    pushed = False
    if dma and not workgroup:
        pushed = push_ready(
            s,
            gpu[U.command],
            dispatch_index,
            gpu[U.wavefront],
            gpu[U.start],
            outer_edge,
            inner_edge,
            full,
        )
    if full and dma and workgroup:
        gpu[U.trigger_state] = _GROUP
    return pushed, dispatch_index if full else -1, full and not dma


@inlined
def step_trigger(s):
    """One cycle; returns as :func:`_count_tile`."""
    config, gpu, memory = s.config, s.gpu, s.memory
    state = gpu[U.trigger_state]
    if state == IDLE:
        _take(s)
        _go_idle(gpu)
    elif state == _LOOKUP:
        _look_up(s)
    elif state == _TILE:
        return _count_tile(s)
    elif state == _GROUP:
        row = _row(config, gpu[U.group_first])
        count = memory[row + TABLE.group] + 1
        if count == gpu[U.group_size]:
            memory[row + TABLE.group] = 0
            gpu[U.group_index] = 0
            gpu[U.trigger_state] = _RELEASE
        else:
            memory[row + TABLE.group] = count & 255
            _go_idle(gpu)
    elif state == _RELEASE:
        dispatch_index = gpu[U.group_first] + gpu[U.group_index]
        row = _row(config, dispatch_index)
        pushed = push_ready(
            s,
            gpu[U.command],
            dispatch_index,
            0,
            memory[row + TABLE.start],
            memory[row + TABLE.outer_edge],
            memory[row + TABLE.inner_edge],
            1,
        )
        gpu[U.group_index] += 1
        if gpu[U.group_index] == gpu[U.group_size]:
            _go_idle(gpu)
        return pushed, -1, False
    else:
        row = config[C.at_table] + gpu[U.trigger_row] * len(TABLE)
        for word in range(TABLE.complete):
            memory[row + word] = 0
        gpu[U.trigger_row] += 1
        if gpu[U.trigger_row] == config[C.credit_window_slots]:
            gpu[U.trigger_state] = IDLE
    return False, -1, False
