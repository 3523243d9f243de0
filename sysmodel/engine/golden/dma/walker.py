"""Walkers of a DMA engine: each cuts the rows that it walks into segments for the lanes."""

from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import channel_of_atom

from ..channel.outstanding import note_segment
from ..index import natural
from ..records import Record, Records, record
from .lane import has_lane_space, offers_segment, push_segment

__all__ = [
    "MOST_WALKERS",
    "WALKER",
    "WALKERS",
    "begin_walk",
    "forget_offers",
    "segment_length",
    "stop_walk",
    "take_segment",
    "walk_rows",
]

WALKER = record("walker_row row_start row_offset row_wavefront walker_channel")
"""Walker: its row, the first atom of the row, the next atom in the row, the wavefront of this atom,
and the channel of this atom if the channel is served here.
"""
MOST_WALKERS = 16
WALKERS = record(
    "walking offering outside_walker outside_atom", [("walkers", WALKER, (MOST_WALKERS,))]
)
"""All walkers. ``walking`` and ``offering`` have a bit for each walker: the walker has not ended;
its segment was refused in the last cycle. The other fields are the first walker outside the region,
and its atom.
"""


@inlined
def segment_length(config: Record, atom: int, remaining: int) -> int:
    """Return the number of consecutive atoms in an atom's channel, at most `remaining`."""
    interleave = config.interleave
    return min(remaining, interleave - (atom & (interleave - 1)))


@inlined
def _wavefront(config: Record, engine: Record, row: int) -> int:
    """Return the wavefront of a row's first atom."""
    steps = row // engine.wave_rows if engine.wave_rows else 0
    advanced = engine.wavefront_base + (steps << engine.minor_log2)
    return advanced & config.wavefront_mask


@inlined
def _find_channel(config: Record, walker: Record) -> None:
    """Find the channel of a walker's next segment."""
    atom = (walker.row_start + walker.row_offset) & config.atom_mask
    channel = channel_of_atom(atom, config.offset_bits, config.system_channels)
    walker.walker_channel = channel - config.first_channel


@compiled
def begin_walk(config: Record, engine: Record) -> bool:
    """Start each walker at its own first row; return whether the tile has any atoms."""
    if engine.rows == 0 or engine.row_atoms == 0:
        return False
    walk = engine.walk
    count = min(config.walkers, engine.rows)
    walk.walking = (1 << count) - 1
    walk.offering = 0
    for row in range(count):
        walker = walk.walkers[natural(row)]
        walker.walker_row = row
        walker.row_start = (engine.tile_start + row * engine.row_stride) & config.atom_mask
        walker.row_offset = 0
        walker.row_wavefront = _wavefront(config, engine, row)
        _find_channel(config, walker)
    return True


@inlined
def _is_behind(walk: Record, walker: Record) -> bool:
    """Return whether another walker's offer to the same lane was refused in the last cycle."""
    if walk.offering:
        for other in range(MOST_WALKERS):
            same = walk.walkers[other].walker_channel == walker.walker_channel
            if walk.offering >> other & 1 and same:
                return True
    return False


@inlined
def _segment(config: Record, engine: Record, walker: Record) -> tuple[int, int, bool]:
    """Return a walker's next segment: its atom, its length, and whether it is in the region."""
    region = engine.region
    atom = (walker.row_start + walker.row_offset) & config.atom_mask
    length = segment_length(config, atom, engine.row_atoms - walker.row_offset)
    inside = region.enable and region.base <= atom and atom + length <= region.limit
    return atom, length, inside


@inlined
def _advance(config: Record, engine: Record, walker: Record, index: int, length: int) -> None:
    """Move a walker behind its segment, and to its next row or its end."""
    walker.row_offset += length
    if walker.row_offset == engine.row_atoms:
        walker.row_offset = 0
        walker.walker_row += config.walkers
        if walker.walker_row >= engine.rows:
            engine.walk.walking &= ~(1 << index)
            return
        stride = config.walkers * engine.row_stride
        walker.row_start = (walker.row_start + stride) & config.atom_mask
        walker.row_wavefront = _wavefront(config, engine, walker.walker_row)
    _find_channel(config, walker)


@inlined
def take_segment(
    channel: Record,
    context: int,
    template: Record,
    atom: int,
    length: int,
    offset: int,
    wavefront: int,
) -> None:
    """Push a segment of a command into the context's lane of a channel."""
    note_segment(channel, context)
    push_segment(channel.lanes[context], template, atom, length, offset, wavefront)


@compiled
def _step_walker(
    config: Record, channels: Records, engine: Record, context: int, index: int
) -> tuple[bool, bool]:
    """Offer a walker's segment to its lane, unless another walker has an offer there, and advance
    the walker if the segment leaves.

    Returns
    -------
    outside : bool
        The segment is outside the region, and is dropped.
    advances : bool
    """
    walk = engine.walk
    walker = walk.walkers[natural(index)]
    atom, length, inside = _segment(config, engine, walker)
    if not inside and index < walk.outside_walker:
        walk.outside_walker, walk.outside_atom = index, atom
    if inside and 0 <= walker.walker_channel < config.channels:
        channel = channels[natural(walker.walker_channel)]
        lane = channel.lanes[context]
        if offers_segment(lane):
            return False, False
        if not has_lane_space(lane):
            if not _is_behind(walk, walker):
                walk.offering |= 1 << index
            return False, False
        offset, wavefront = walker.row_offset, walker.row_wavefront
        take_segment(channel, context, engine.template, atom, length, offset, wavefront)
        walk.offering &= ~(1 << index)
    _advance(config, engine, walker, index, length)
    return not inside, True


@inlined
def walk_rows(
    config: Record, channels: Records, engine: Record, context: int
) -> tuple[bool, bool, bool]:
    """Advance by one segment all walkers whose segments the lanes take.

    Returns
    -------
    outside : bool
        A segment was outside the region; its atom is recorded.
    changes : bool
        A walker moves, or offers another segment.
    ends : bool
        All walkers have ended.
    """
    walk = engine.walk
    walk.outside_walker = MOST_WALKERS
    outside = moves = False
    # A segment that was offered before stays on offer, and goes first.
    offered = walk.offering
    others = walk.walking & ~offered
    if offered:
        for index in range(config.walkers):
            if offered >> index & 1:
                is_outside, advances = _step_walker(config, channels, engine, context, index)
                outside |= is_outside
                moves |= advances
    for index in range(config.walkers):
        if others >> index & 1:
            is_outside, advances = _step_walker(config, channels, engine, context, index)
            outside |= is_outside
            moves |= advances
    return outside, moves or walk.offering != offered, walk.walking == 0


@inlined
def forget_offers(engine: Record) -> bool:
    """Clear the refused offers after the walk; return whether there were any."""
    offered = engine.walk.offering != 0
    engine.walk.offering = 0
    return offered


@compiled
def stop_walk(config: Record, channels: Records, engine: Record, context: int) -> None:
    """Stop the walkers of an aborted context; the offers of this cycle are kept for one
    more cycle.
    """
    walk = engine.walk
    for number in range(config.channels):
        lane, first = channels[number].lanes[context], -1
        for index in range(config.walkers):
            walker = walk.walkers[natural(index)]
            if not walk.walking >> index & 1 or walker.walker_channel != number:
                continue
            _, _, inside = _segment(config, engine, walker)
            if inside and (first < 0 or walk.offering >> index & 1):
                first = index
        for index in range(config.walkers):
            if walk.walkers[natural(index)].walker_channel == number:
                walk.offering &= ~(1 << index)
        if first >= 0 and not has_lane_space(lane):
            walk.offering |= 1 << first
