"""Trigger unit: counts complete tiles of a workgroup, and releases DMA commands."""

from rtl.layouts import Action, Granularity
from sysmodel.compiled import compiled, inlined

from .address_map import range_of
from .queues import natural
from .state import COMMAND, COMPLETION, RANGE, READY, TABLE, C, U
from .tracker import take_completion

__all__ = ["CLEARING", "IDLE", "begin_clearing", "push_ready", "step_ready", "step_trigger"]

CLEARING, IDLE, _TILE, _GROUP, _RELEASE = range(5)
_DMA, _WORKGROUP = Action.DMA.value, Granularity.WORKGROUP.value


@inlined
def _row(config, place):
    """Where the memories' row of a place is."""
    return natural(config[C.at_table] + (place & (config[C.window_slots] - 1)) * len(TABLE))


@compiled
def push_ready(s, command, place, wavefront, start, row_edge, run_edge, last):
    """Write a ready command behind the queue's last; True if there was room."""
    config, gpu, memory = s.config, s.gpu, s.memory
    # The queue's last stage is a register: the memory has one entry less.
    if gpu[U.ready_inner] == config[C.depth] - 1:
        return False
    position = gpu[U.ready_head] + gpu[U.ready_valid] + gpu[U.ready_inner]
    to = config[C.at_ready] + (position & (config[C.depth] - 1)) * len(READY)
    memory[to + READY.command] = command
    memory[to + READY.place] = place
    memory[to + READY.wavefront] = wavefront
    memory[to + READY.start] = start
    memory[to + READY.row_edge] = row_edge
    memory[to + READY.run_edge] = run_edge
    memory[to + READY.last] = last
    return True


@inlined
def step_ready(s, pushed, popped):
    """Move the queue of ready commands on by one cycle."""
    gpu = s.gpu
    inner, valid = gpu[U.ready_inner], gpu[U.ready_valid]
    loads = inner > 0 and (not valid or popped)
    gpu[U.ready_inner] = inner + pushed - loads
    gpu[U.ready_valid] = loads or (valid and not popped)
    if popped:
        gpu[U.ready_head] = (gpu[U.ready_head] + 1) & (s.config[C.depth] - 1)


@compiled
def begin_clearing(s):
    s.gpu[U.trigger_state] = CLEARING
    s.gpu[U.trigger_row] = 0


@compiled
def _count_tile(s):
    """State TILE.

    Returns
    -------
    pushed : bool
    complete : int
        Place of the workgroup that is complete, or -1.
    own : bool
    """
    config, gpu, memory = s.config, s.gpu, s.memory
    gpu[U.trigger_state] = IDLE
    place = gpu[U.place]
    entry = range_of(config, -1, place)
    if entry < 0:
        return False, -1, False
    number = config[entry + RANGE.command]
    command = config[C.at_commands] + number * len(COMMAND)
    row = _row(config, place)
    row_edge, run_edge = gpu[U.row_edge], gpu[U.run_edge]
    tiles = memory[row + TABLE.tiles]
    first = memory[row + TABLE.start]
    memory[row + TABLE.start] = gpu[U.start] if tiles == 0 else min(first, gpu[U.start])
    memory[row + TABLE.row_edge] = row_edge
    memory[row + TABLE.run_edge] = run_edge
    full = tiles + 1 == config[command + COMMAND.waves_0 + run_edge * 2 + row_edge]
    memory[row + TABLE.tiles] = 0 if full else (tiles + 1) & 15

    dma = config[entry + RANGE.action] == _DMA
    workgroup = config[command + COMMAND.granularity] == _WORKGROUP
    pushed = False
    if dma and not workgroup:
        pushed = push_ready(
            s, number, place, gpu[U.wavefront], gpu[U.start], row_edge, run_edge, full
        )
    if full and dma and workgroup:
        log2 = config[command + COMMAND.group_log2]
        begin = config[entry + RANGE.first]
        begin += ((place - begin) >> log2) << log2
        gpu[U.group_command] = number
        gpu[U.group_first] = begin
        gpu[U.group_size] = min(1 << log2, config[entry + RANGE.last] - begin + 1)
        gpu[U.trigger_state] = _GROUP
    return pushed, place if full else -1, full and not dma


@inlined
def step_trigger(s):
    """One cycle; returns as :func:`_count_tile`."""
    config, gpu, memory = s.config, s.gpu, s.memory
    state = gpu[U.trigger_state]
    if state == IDLE:
        record = take_completion(s)
        if record >= 0:
            gpu[U.tiles] = (gpu[U.tiles] + 1) & 0xFFFFFFFF
            gpu[U.place] = memory[record + COMPLETION.place]
            gpu[U.wavefront] = memory[record + COMPLETION.wavefront]
            gpu[U.start] = memory[record + COMPLETION.start]
            gpu[U.row_edge] = memory[record + COMPLETION.row_edge]
            gpu[U.run_edge] = memory[record + COMPLETION.run_edge]
            gpu[U.trigger_state] = _TILE
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
            gpu[U.trigger_state] = IDLE
    elif state == _RELEASE:
        place = gpu[U.group_first] + gpu[U.group_index]
        row = _row(config, place)
        pushed = push_ready(
            s,
            gpu[U.group_command],
            place,
            0,
            memory[row + TABLE.start],
            memory[row + TABLE.row_edge],
            memory[row + TABLE.run_edge],
            1,
        )
        gpu[U.group_index] += 1
        if gpu[U.group_index] == gpu[U.group_size]:
            gpu[U.trigger_state] = IDLE
        return pushed, -1, False
    else:
        row = config[C.at_table] + gpu[U.trigger_row] * len(TABLE)
        for word in range(TABLE.complete):
            memory[row + word] = 0
        gpu[U.trigger_row] += 1
        if gpu[U.trigger_row] == config[C.window_slots]:
            gpu[U.trigger_state] = IDLE
    return False, -1, False
