"""Trigger unit: counts complete tiles of a workgroup, and releases DMA commands."""

from typing import NamedTuple

from rtl.interface.encodings import Action, ErrorCode, Granularity
from sysmodel.lib.compiled import compiled, inlined

from ..channel.address_map import range_of
from ..index import natural
from ..payloads.layouts import COMPLETION
from ..records import Record, clear_record, copy_record, record
from ..registers.errors import error
from ..registers.injection import CORRECTED, GROUPS, LOST, TILES, bit_errors
from ..scrub import SCRUB_WALK, step_row_scrub, walks
from ..state import GoldenState
from .ready import push_ready

__all__ = [
    "CLEARING",
    "GROUP",
    "IDLE",
    "ROW",
    "TRIGGER",
    "TriggerOutputs",
    "begin_clearing",
    "scrub_rows",
    "scrubs_rows",
    "step_trigger",
    "trigger_changes",
]

TRIGGER = record(
    "state tiles taken clear_row row_errors tile_action tile_range tile_granularity tile_waves "
    "group_first group_size group_index row_seen group_seen writes_row written",
    [
        ("completion", COMPLETION),
        ("next", COMPLETION),
        ("row_scrub", SCRUB_WALK),
        ("group_scrub", SCRUB_WALK),
    ],
)
"""Unit: its state, the number of accepted completions, the current completion with its range and
the range's command, the next completion, which waits for LOOKUP if ``taken``, and the bit errors of
the rows that were read. ``writes_row``: state TILE or GROUP writes its row; ``written``: a memory
was written in the last cycle.
"""
ROW = record("tile_count first_atom row_outer row_inner group_count bit_errors group_bit_errors")
"""Row of both memories: complete tiles of a workgroup, the smallest atom of its tiles, its edges,
and complete workgroups of its group."""

CLEARING, IDLE, _LOOKUP, _TILE, GROUP, _RELEASE = range(6)
_NONE, _DMA = Action.NONE.value, Action.DMA.value
_WORKGROUP = Granularity.WORKGROUP.value
_CORRUPT = ErrorCode.TRIGGER_CORRUPT.value


class TriggerOutputs(NamedTuple):
    """Result of the unit's cycle.

    Attributes
    ----------
    taken : bool
        The completion that was offered is taken.
    pushed : bool
        A ready command is pushed.
    complete : int
        Dispatch index of a workgroup that is complete, or -1.
    own : bool
        The workgroup needs no DMA command.
    failure : int
        Error of a row that is lost, or 0.
    corrected, corrected_next : bool
        A bit error is corrected in this cycle, or in the next one.
    """

    taken: bool
    pushed: bool
    complete: int
    own: bool
    failure: int
    corrected: bool
    corrected_next: bool


@inlined
def _row(s: GoldenState, context: int, dispatch_index: int) -> Record:
    """Return the memories' row of a dispatch index."""
    return s.table[context, natural(dispatch_index & (s.config.credit_window_slots - 1))]


@compiled
def begin_clearing(trigger: Record) -> None:
    """Drop all completions, and clear the memories from the next cycle on."""
    trigger.state = CLEARING
    trigger.clear_row = 0
    trigger.taken = 0


@inlined
def trigger_changes(trigger: Record) -> bool:
    """Return whether the unit is active, or wrote a memory in the last cycle."""
    return trigger.state != IDLE or trigger.written != 0


@inlined
def _take(trigger: Record, offered: bool, completion: Record) -> bool:
    """Take a completion if one is offered; the completion waits for LOOKUP."""
    if offered:
        trigger.tiles = (trigger.tiles + 1) & 0xFFFFFFFF
        trigger.taken = 1
        copy_record(trigger.next, completion)
    return offered


@inlined
def _read_row(s: GoldenState, context: int, rewritten: int) -> bool:
    """Read the row of the next completion, if there is one; return whether the next cycle corrects
    the row.

    Parameters
    ----------
    rewritten : int
        Dispatch index of the row that is written in this cycle, or -1.
    """
    trigger = s.contexts[context].trigger
    if not trigger.taken:
        return False
    slots = s.config.credit_window_slots - 1
    row = trigger.next.dispatch_index & slots
    is_new = rewritten >= 0 and rewritten & slots == row
    trigger.row_errors = 0 if is_new else s.table[context, natural(row)].bit_errors
    return trigger.row_errors == CORRECTED


@inlined
def _go_idle(trigger: Record) -> None:
    """Finish a completion; the next completion may already have been taken."""
    trigger.state = _LOOKUP if trigger.taken else IDLE


@inlined
def _look_up(s: GoldenState, context: int) -> None:
    """State LOOKUP: find the completion's range, and its command as it is in this cycle."""
    trigger, completion = s.contexts[context].trigger, s.contexts[context].trigger.completion
    trigger.taken = 0
    copy_record(completion, trigger.next)
    trigger.state = _TILE
    index = range_of(s.config.ranges, s.ranges, context, -1, completion.dispatch_index, False)
    if index < 0:
        trigger.tile_action = _NONE
        return
    entry = s.ranges[context, index]
    command = s.commands[context, natural(entry.command)]
    trigger.tile_action = entry.action
    trigger.tile_range = index
    trigger.tile_granularity = command.granularity
    edges = natural(completion.inner_edge * 2 + completion.outer_edge)
    trigger.tile_waves = command.waves[edges]
    log2 = command.group_log2
    first = entry.first
    first += ((completion.dispatch_index - first) >> log2) << log2
    trigger.group_first = first
    trigger.group_size = min(1 << log2, entry.last - first + 1)


@inlined
def _add_tile(s: GoldenState, context: int) -> tuple[bool, int, bool]:
    """Count the completion in its workgroup's row.

    Returns
    -------
    pushed, complete, own
        As in :class:`TriggerOutputs`.
    """
    trigger, completion = s.contexts[context].trigger, s.contexts[context].trigger.completion
    dispatch_index = completion.dispatch_index
    row = _row(s, context, dispatch_index)
    row.bit_errors = bit_errors(s.gpu.injection, TILES, context)
    tiles, start = row.tile_count, completion.start
    row.first_atom = start if tiles == 0 else min(row.first_atom, start)
    row.row_outer, row.row_inner = completion.outer_edge, completion.inner_edge
    full = tiles + 1 == trigger.tile_waves
    row.tile_count = 0 if full else (tiles + 1) & 15
    dma = trigger.tile_action == _DMA
    workgroup = trigger.tile_granularity == _WORKGROUP
    pushed = False
    if dma and not workgroup:
        pushed = push_ready(
            s,
            context,
            trigger.tile_range,
            dispatch_index,
            completion.wavefront,
            start,
            completion.outer_edge,
            completion.inner_edge,
            full,
        )
    if full and dma and workgroup:
        trigger.state = GROUP
        trigger.group_seen = _row(s, context, trigger.group_first).group_bit_errors
    return pushed, dispatch_index if full else -1, full and not dma


@inlined
def _count_tile(
    s: GoldenState, context: int, offered: bool, next_completion: Record
) -> tuple[bool, bool, int, bool, int, bool]:
    """State TILE: count the completion, and take the next one.

    Returns
    -------
    taken, pushed, complete, own, failure, corrected_next
        As in :class:`TriggerOutputs`.
    """
    trigger, completion = s.contexts[context].trigger, s.contexts[context].trigger.completion
    lost = trigger.row_errors == LOST
    taken = _take(trigger, offered, next_completion)
    _go_idle(trigger)
    dispatch_index = completion.dispatch_index
    mapped = trigger.tile_action != _NONE
    counts = mapped and not lost
    trigger.writes_row = trigger.written = counts
    corrected_next = _read_row(s, context, dispatch_index if counts else -1)
    failure, pushed, complete, own = 0, False, -1, False
    if counts:
        pushed, complete, own = _add_tile(s, context)
    elif mapped:
        failure = error(_CORRUPT, context, dispatch_index, completion.wavefront)
    return taken, pushed, complete, own, failure, corrected_next


@inlined
def _count_workgroup(s: GoldenState, context: int) -> tuple[int, bool]:
    """State GROUP: count a complete workgroup in its group; return an error, or 0, and whether a
    bit error is corrected."""
    trigger = s.contexts[context].trigger
    row = _row(s, context, trigger.group_first)
    lost = trigger.group_seen == LOST
    trigger.writes_row = trigger.written = not lost
    trigger.row_seen = row.bit_errors
    if lost:
        _go_idle(trigger)
        return error(_CORRUPT, context, trigger.completion.dispatch_index, 0), False
    row.group_bit_errors = bit_errors(s.gpu.injection, GROUPS, context)
    count = row.group_count + 1
    if count == trigger.group_size:
        row.group_count = 0
        trigger.group_index = 0
        trigger.state = _RELEASE
    else:
        row.group_count = count & 255
        _go_idle(trigger)
    return 0, trigger.group_seen == CORRECTED


@inlined
def _release(s: GoldenState, context: int) -> tuple[bool, int, bool]:
    """State RELEASE: push the command of a workgroup of the group; return whether it is pushed, an
    error, or 0, and whether a bit error is corrected."""
    trigger = s.contexts[context].trigger
    dispatch_index = trigger.group_first + trigger.group_index
    row, seen = _row(s, context, dispatch_index), trigger.row_seen
    pushed, failure = False, 0
    if seen == LOST:
        failure = error(_CORRUPT, context, dispatch_index, 0)
    else:
        pushed = push_ready(
            s,
            context,
            trigger.tile_range,
            dispatch_index,
            0,
            row.first_atom,
            row.row_outer,
            row.row_inner,
            1,
        )
    trigger.row_seen = _row(s, context, dispatch_index + 1).bit_errors
    trigger.group_index += 1
    if trigger.group_index == trigger.group_size:
        _go_idle(trigger)
    return pushed, failure, seen == CORRECTED


@inlined
def _clear(s: GoldenState, context: int) -> None:
    """State CLEARING: clear a row."""
    trigger = s.contexts[context].trigger
    row = s.table[context, natural(trigger.clear_row)]
    clear_record(row)
    row.bit_errors = bit_errors(s.gpu.injection, TILES, context)
    row.group_bit_errors = bit_errors(s.gpu.injection, GROUPS, context)
    trigger.clear_row += 1
    trigger.written = 1
    if trigger.clear_row == s.config.credit_window_slots:
        trigger.state = IDLE


@inlined
def step_trigger(s: GoldenState, context: int, offered: bool, completion: Record) -> TriggerOutputs:
    """Advance the unit by one cycle.

    Parameters
    ----------
    offered : bool
        The tracker offers ``completion``.
    """
    trigger = s.contexts[context].trigger
    state = trigger.state
    trigger.written = 0
    taken, pushed, complete, own, failure = False, False, -1, False, 0
    corrected, corrected_next = False, False
    if state == IDLE:
        taken = _take(trigger, offered, completion)
        _go_idle(trigger)
        corrected_next = _read_row(s, context, -1)
    elif state == _LOOKUP:
        _look_up(s, context)
    elif state == _TILE:
        taken, pushed, complete, own, failure, corrected_next = _count_tile(
            s, context, offered, completion
        )
    elif state == GROUP:
        failure, corrected = _count_workgroup(s, context)
    elif state == _RELEASE:
        pushed, failure, corrected = _release(s, context)
    else:
        _clear(s, context)
    return TriggerOutputs(taken, pushed, complete, own, failure, corrected, corrected_next)


@inlined
def scrubs_rows(s: GoldenState, context: int) -> bool:
    """Return whether a step of a walk over the memories is due or outstanding."""
    trigger, scrubber = s.contexts[context].trigger, s.gpu.scrubber
    return walks(scrubber, trigger.row_scrub) or walks(scrubber, trigger.group_scrub)


@compiled
def scrub_rows(s: GoldenState, context: int, state: int, taken: bool) -> None:
    """Advance the walks over both memories by one cycle, after the unit's own cycle.

    Parameters
    ----------
    state : int
        State of the unit at the start of the cycle.
    taken : bool
        A completion was taken in the cycle.
    """
    trigger, scrubber = s.contexts[context].trigger, s.gpu.scrubber
    rows, clears, wrote = s.config.credit_window_slots, state == CLEARING, trigger.writes_row != 0
    row = s.table[context, natural(trigger.row_scrub.scrub_row)]
    reads = taken or state == GROUP or state == _RELEASE
    writes = clears or (state == _TILE and wrote)
    if step_row_scrub(scrubber, trigger.row_scrub, rows, reads, writes, row.bit_errors):
        row.bit_errors = 0
    row = s.table[context, natural(trigger.group_scrub.scrub_row)]
    writes = clears or (state == GROUP and wrote)
    if step_row_scrub(
        scrubber, trigger.group_scrub, rows, state == _TILE, writes, row.group_bit_errors
    ):
        row.group_bit_errors = 0
