"""DMA engine: takes a context's ready commands and copies, and walks their tiles."""

from typing import NamedTuple

from rtl.interface.encodings import ErrorCode, Granularity
from sysmodel.lib.compiled import compiled, inlined

from ..channel.outstanding import note_segment
from ..index import natural, pick
from ..payloads.commands import assign_run, assign_slot, make_segment_template
from ..payloads.layouts import REGION, SEGMENT
from ..payloads.markers import packed_marker
from ..records import Record, copy_record, record
from ..registers.errors import error
from ..state import GoldenState
from .copies import copy_valid, first_copy, pop_copy
from .lane import has_lane_space, push_marker
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
    "minor_log2 wavefront_base region_number marks_tiles mark_phase mark_wave last_wave mark_rows "
    "mark_row_atoms mark_atoms tile_outer tile_inner",
    [("template", SEGMENT), ("region", REGION), ("walk", WALKERS)],
)
"""Engine: its state, the last source, the current command with the geometry of its tile and its
region, and the walkers. ``ready_dispatch_index`` is negative for a copy. ``marks_tiles``: END
packets follow; the other fields of markers are the step, the wavefront and the last one, its rows,
its atoms of a row and all of its atoms, and the edges of the tile.
"""

_OUTSIDE = ErrorCode.DMA_OUT_OF_REGION.value
_WORKGROUP = Granularity.WORKGROUP.value
# Log2 of a run length with which all atoms of a row belong to one wavefront.
_WHOLE_RUN = 15
# States of the engine.
_IDLE, _SCALE, _SHAPE, WALK, MARK = range(5)
# Steps of MARK: as SCALE and SHAPE, the product, and the offer.
_LOOK_BEFORE, _SHARE, _MULTIPLY, _OFFER = range(4)


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
    return engine.mode == _SCALE or engine.mode == _SHAPE


@compiled
def _begin(
    s: GoldenState, context: int, command: Record, marks: int, peers: int, start: int
) -> None:
    """Load the fields that a copy, which marks no tiles, and a ready command have in common."""
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
    engine.marks_tiles = marks
    generation = own.launch.generation
    make_segment_template(engine.template, command, marks, peers, generation, _WHOLE_RUN)


@inlined
def _begin_ready(s: GoldenState, context: int, ready: Record) -> None:
    """Take a ready command: the tile of a workgroup, or of one of its wavefronts."""
    engine = s.contexts[context].engine
    entry = s.ranges[context, ready.range]
    command = s.commands[context, entry.command]
    _begin(s, context, command, command.marks, entry.peers, ready.start)
    slot = ready.dispatch_index + entry.slot_offset
    assign_slot(engine.template, slot & s.config.dispatch_index_mask)
    engine.ready_dispatch_index = ready.dispatch_index
    rows = command.outer_extent_edge if ready.outer_edge else command.outer_extent
    if ready.start == s.config.atom_mask:
        rows = 0  # the tile has no atom
    atoms = command.inner_extent_edge if ready.inner_edge else command.inner_extent
    run_log2, wave_rows = command.wave_inner_log2, command.wave_outer_extent
    engine.mark_wave = ready.wavefront
    engine.tile_outer, engine.tile_inner = ready.outer_edge, ready.inner_edge
    if command.granularity == _WORKGROUP:
        assign_run(engine.template, run_log2)
        engine.wave_rows = wave_rows
        edges = natural(ready.inner_edge << 1 | ready.outer_edge)
        engine.mark_phase, engine.mark_wave = _LOOK_BEFORE, 0
        engine.last_wave = (command.waves[edges] - 1) & s.config.wavefront_mask
    else:
        wavefront, minor_log2 = ready.wavefront, command.waves_inner_log2
        minor = wavefront & ((1 << minor_log2) - 1)
        major = wavefront >> minor_log2
        atoms = max(min(1 << run_log2, atoms - (minor << run_log2)), 0)
        rows = max(min(wave_rows, rows - major * wave_rows), 0)
        engine.wavefront_base = wavefront
        engine.mark_phase, engine.last_wave = _MULTIPLY, wavefront
        engine.mark_rows, engine.mark_row_atoms = rows, atoms
    engine.rows, engine.row_atoms = rows, atoms


@inlined
def _share(engine: Record) -> None:
    """Find the rows, and the atoms of a row, of a wavefront of a workgroup's tile."""
    run_log2, minor_log2 = engine.template.wave_inner_log2, engine.minor_log2
    minor, major = engine.mark_wave & ((1 << minor_log2) - 1), engine.mark_wave >> minor_log2
    atoms = min(1 << run_log2, engine.row_atoms - (minor << run_log2))
    rows = engine.rows
    if engine.wave_rows:
        rows = min(engine.wave_rows, rows - major * engine.wave_rows)
    engine.mark_rows, engine.mark_row_atoms = max(rows, 0), max(atoms, 0)


@compiled
def _mark(s: GoldenState, engine: Record, context: int) -> None:
    """State MARK: send the END packets of the tile's wavefronts."""
    config, phase, wave = s.config, engine.mark_phase, engine.mark_wave
    if phase != _OFFER:
        if phase == _SHARE:
            _share(engine)
        elif phase == _MULTIPLY:
            mask = (1 << config.tile_atom_bits) - 1
            engine.mark_atoms = (engine.mark_rows & mask) * (engine.mark_row_atoms & mask) & mask
        engine.mark_phase = phase + 1
        return
    template = engine.template
    number = natural((template.slot + wave) & config.mark_lane_mask)
    lane = s.channels[number].lanes[context]
    if not has_lane_space(lane):
        return
    note_segment(s.channels[number], context)
    atom = packed_marker(config, engine.mark_atoms, engine.tile_outer, engine.tile_inner, 1)
    push_marker(lane, template, atom, wave, _WHOLE_RUN)
    engine.mark_phase = _LOOK_BEFORE
    if wave == engine.last_wave:
        engine.mode = _IDLE
    else:
        engine.mark_wave = (wave + 1) & config.wavefront_mask


@inlined
def _scale(s: GoldenState, context: int) -> None:
    """State SCALE: look up the region in the table of this cycle."""
    engine = s.contexts[context].engine
    if engine.ready_dispatch_index >= 0:
        copy_record(engine.region, s.regions[context, natural(engine.region_number)])


@inlined
def _take_command(
    s: GoldenState, context: int, ready_valid: bool, ready: Record
) -> tuple[bool, bool]:
    """State IDLE: take a ready command that the peers of its range admit, or a copy, in turn.

    Returns
    -------
    popped, issued : bool
        As in :class:`EngineOutputs`.
    """
    own = s.contexts[context]
    engine = own.engine
    eligible = ready_valid and ready.dispatch_index < s.limits[context, ready.range]
    choice = pick(eligible, copy_valid(own.copies), engine.last_source)
    if choice < 0:
        return False, False
    engine.last_source = choice
    engine.mode = _SCALE
    if choice == 0:
        _begin_ready(s, context, ready)
        return True, ready.last != 0
    copy = first_copy(own.copies)
    _begin(s, context, copy.command, 0, copy.peers, copy.start)
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
def step_engine(s: GoldenState, context: int, ready_valid: bool, ready: Record) -> EngineOutputs:
    """Advance the engine by one cycle.

    Parameters
    ----------
    ready_valid : bool
        The queue of ready commands offers ``ready``.
    """
    own = s.contexts[context]
    engine, aborted = own.engine, own.aborted != 0
    mode, has_command = engine.mode, ready_valid or copy_valid(own.copies)
    active = mode == _SCALE or mode == _SHAPE or mode == MARK
    active = active or (mode == _IDLE and has_command)
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
            engine.mode = MARK if engine.marks_tiles else _IDLE
    elif mode == MARK:
        _mark(s, engine, context)
    elif mode == _SCALE:
        _scale(s, context)
        engine.mode = _SHAPE
    elif mode == _SHAPE:
        behind = MARK if engine.marks_tiles else _IDLE
        engine.mode = WALK if begin_walk(s.config, engine) else behind
    elif has_command:
        popped, issued = _take_command(s, context, ready_valid, ready)
    failure = 0
    if outside:
        dispatch_index = max(engine.ready_dispatch_index, 0)
        failure = error(_OUTSIDE, context, dispatch_index, engine.wavefront_base)
    return EngineOutputs(active, popped, issued, failure)
