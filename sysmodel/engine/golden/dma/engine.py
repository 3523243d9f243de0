"""DMA engine: takes a context's ready commands and copies, and walks their tiles."""

from typing import NamedTuple

from rtl.interface.encodings import ErrorCode, Granularity
from sysmodel.lib.compiled import compiled, inlined

from ..index import natural, pick
from ..payloads import (
    REGION,
    SEGMENT,
    assign_run,
    assign_slot,
    make_segment_template,
)
from ..records import Record, copy_record, record
from ..registers.errors import error
from ..state import GoldenState
from .copies import copy_valid, first_copy, pop_copy
from .walker import WALKERS, begin_walk, forget_offers, stop_walk, walk_rows

__all__ = [
    "ENGINE",
    "WALK",
    "EngineOutputs",
    "engine_is_idle",
    "needs_tables",
    "reset_engine",
    "step_engine",
]

ENGINE = record(
    "mode last_source ready_dispatch_index tile_start rows row_atoms row_stride wave_rows "
    "minor_log2 wavefront_base region_number",
    [("template", SEGMENT), ("region", REGION), ("walk", WALKERS)],
)
"""Engine: its state, the last source, the current command with the geometry of its tile and its
region, and the walkers. ``ready_dispatch_index`` is negative for a copy.
"""

_OUTSIDE = ErrorCode.DMA_OUT_OF_REGION.value
_WORKGROUP = Granularity.WORKGROUP.value
# Log2 of a run length with which all atoms of a row belong to one wavefront.
_WHOLE_RUN = 15
# States of the engine.
_IDLE, _SCALE, _SHAPE, WALK = range(4)


class EngineOutputs(NamedTuple):
    """Result of the engine's cycle.

    Attributes
    ----------
    active : bool
        A register of the engine may change.
    popped : bool
        A ready command was taken.
    issued : bool
        The ready command was the last one of its workgroup.
    failure : int
        Error of a segment outside the region, or 0.
    """

    active: bool
    popped: bool
    issued: bool
    failure: int


@inlined
def engine_is_idle(engine: Record) -> bool:
    """Return whether the engine processes no command."""
    return engine.mode == _IDLE


@inlined
def needs_tables(engine: Record) -> bool:
    """Return whether the current command still reads the tables of its launch."""
    return engine.mode != _IDLE and engine.mode != WALK


@compiled
def _begin(s: GoldenState, context: int, command: Record, start: int) -> None:
    """Load the fields that a copy and a ready command have in common."""
    own = s.contexts[context]
    engine = own.engine
    engine.tile_start = start
    engine.rows = command.outer_extent
    engine.row_atoms = command.inner_extent
    engine.row_stride = command.stride
    engine.wave_rows = 0
    engine.minor_log2 = command.waves_inner_log2
    engine.wavefront_base = 0
    engine.ready_dispatch_index = -1
    engine.region_number = command.region
    make_segment_template(
        engine.template, command, own.address_space.remote, own.launch.generation, _WHOLE_RUN
    )


@inlined
def _begin_ready(s: GoldenState, context: int, ready: Record) -> None:
    """Take a ready command: the tile of a workgroup, or of one of its wavefronts."""
    engine = s.contexts[context].engine
    command = s.commands[context, ready.command]
    _begin(s, context, command, ready.start)
    engine.ready_dispatch_index = ready.dispatch_index
    rows = command.outer_extent_edge if ready.outer_edge else command.outer_extent
    atoms = command.inner_extent_edge if ready.inner_edge else command.inner_extent
    run_log2, wave_rows = command.wave_inner_log2, command.wave_outer_extent
    if command.granularity == _WORKGROUP:
        assign_run(engine.template, run_log2)
        engine.wave_rows = wave_rows
    else:
        wavefront, minor_log2 = ready.wavefront, command.waves_inner_log2
        minor = wavefront & ((1 << minor_log2) - 1)
        major = wavefront >> minor_log2
        atoms = max(min(1 << run_log2, atoms - (minor << run_log2)), 0)
        rows = max(min(wave_rows, rows - major * wave_rows), 0)
        engine.wavefront_base = wavefront
    engine.rows, engine.row_atoms = rows, atoms


@inlined
def _scale(s: GoldenState, context: int) -> None:
    """State SCALE: compute the slot and look up the region, with the launch and the table of this
    cycle.
    """
    own = s.contexts[context]
    engine = own.engine
    if engine.ready_dispatch_index >= 0:
        copy_record(engine.region, s.regions[context, natural(engine.region_number)])
        slot = engine.ready_dispatch_index + own.launch.shift
        assign_slot(engine.template, slot & s.config.dispatch_index_mask)


@inlined
def _take_command(
    s: GoldenState, context: int, ready_valid: bool, ready: Record, credit_limit_in: int
) -> tuple[bool, bool]:
    """State IDLE: take a ready command that the downstream GPU admits, or a copy, in turn.

    Returns
    -------
    popped, issued : bool
        As in :class:`EngineOutputs`.
    """
    own = s.contexts[context]
    engine = own.engine
    eligible = ready_valid and ready.dispatch_index + own.launch.shift < credit_limit_in
    choice = pick(eligible, copy_valid(own.copies), engine.last_source)
    if choice < 0:
        return False, False
    engine.last_source = choice
    engine.mode = _SCALE
    if choice == 0:
        _begin_ready(s, context, ready)
        return True, ready.last != 0
    copy = first_copy(own.copies)
    _begin(s, context, copy.command, copy.start)
    copy_record(engine.region, copy.region)
    pop_copy(own.copies)
    return False, False


@inlined
def _abort(s: GoldenState, context: int) -> None:
    """Drop the current command, and the oldest copy."""
    own = s.contexts[context]
    own.engine.mode = _IDLE
    if copy_valid(own.copies):
        pop_copy(own.copies)


@inlined
def reset_engine(engine: Record) -> None:
    """Put the engine into its state after reset."""
    engine.last_source = 1


@inlined
def step_engine(
    s: GoldenState, context: int, ready_valid: bool, ready: Record, credit_limit_in: int
) -> EngineOutputs:
    """Advance the engine by one cycle.

    Parameters
    ----------
    ready_valid : bool
        The queue of ready commands offers ``ready``.
    credit_limit_in : int
        Credit limit of the downstream GPU.
    """
    own = s.contexts[context]
    engine, aborted = own.engine, own.aborted != 0
    mode, has_command = engine.mode, ready_valid or copy_valid(own.copies)
    active = mode == _SCALE or mode == _SHAPE or (mode == _IDLE and has_command)
    popped = issued = outside = False
    if mode != WALK:
        active |= forget_offers(engine)
    elif aborted:
        active = True
        stop_walk(s.config, s.channels, engine, context)
    if aborted:
        popped = ready_valid
        _abort(s, context)
    elif mode == WALK:
        outside, changes, ends = walk_rows(s.config, s.channels, engine, context)
        active |= changes
        if ends:
            engine.mode = _IDLE
    elif mode == _SCALE:
        _scale(s, context)
        engine.mode = _SHAPE
    elif mode == _SHAPE:
        engine.mode = WALK if begin_walk(s.config, engine) else _IDLE
    elif has_command:
        popped, issued = _take_command(s, context, ready_valid, ready, credit_limit_in)
    failure = 0
    if outside:
        dispatch_index = max(engine.ready_dispatch_index, 0)
        failure = error(_OUTSIDE, context, dispatch_index, engine.wavefront_base)
    return EngineOutputs(active, popped, issued, failure)
