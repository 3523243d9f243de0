"""Writes to the L2: write-back, write-allocate, arrivals, and the flush at a kernel's end.

A write covers whole sectors, so it fetches nothing.
"""

from sysmodel.lib.compiled import compiled, inlined

from .atoms import LINE_ATOM_BITS, LINE_ATOMS
from .l2_tags import (
    DIRTY,
    USED,
    VALID,
    allocate,
    find_way,
    l2_slice,
    set_of,
    write_back,
)

__all__ = [
    "begin_flush",
    "l2_drain",
    "l2_flush",
    "l2_keep",
    "l2_write",
    "next_write_back",
    "pop_write_back",
]


@compiled
def l2_write(state, ch: int, local_line: int, sector_mask: int, most: int) -> bool:
    """Write sectors of a line.

    Parameters
    ----------
    most : int
        Capacity of the channel's queue of write-backs, in sectors.

    Returns
    -------
    bool
        False if that queue has no space for the sectors that the write may evict. The state is then
        unchanged, and the caller retries later.
    """
    if state.channels[ch].write_backs + LINE_ATOMS > most:
        return False
    where, way = _place(state, ch, local_line)
    state.ways[where, VALID, way] |= sector_mask
    state.ways[where, DIRTY, way] |= sector_mask
    return True


@compiled
def l2_keep(state, ch: int, local_atom: int, most: int) -> bool:
    """Keep a sector that is also written to the memory, if the queue of write-backs has space for
    the sectors that it may evict; return True if it overwrites a dirty sector."""
    if state.channels[ch].write_backs + LINE_ATOMS > most:
        return False
    where, way = _place(state, ch, local_atom >> LINE_ATOM_BITS)
    sector = 1 << (local_atom & (LINE_ATOMS - 1))
    dirty = state.ways[where, DIRTY, way] & sector
    state.ways[where, VALID, way] |= sector
    state.ways[where, DIRTY, way] ^= dirty
    return dirty != 0


@compiled
def _place(state, ch, local_line):
    """Find or allocate a line as the one used last; return its row of ways, and its way."""
    index = l2_slice(state, ch, local_line)
    where = set_of(state, index, local_line)
    way = find_way(state.ways, where, local_line)
    if way < 0:
        way = allocate(state, ch, where, local_line)
    s = state.slices[index]
    s.clock += 1
    state.ways[where, USED, way] = s.clock
    return where, way


@inlined
def begin_flush(state, ch: int) -> None:
    """Let the next call of :func:`l2_flush` or :func:`l2_drain` begin anew."""
    state.channels[ch].flushed = 0


@inlined
def _end_sets(channel, sets):
    """End the write-back of sets; what waits for the memory still has to leave."""
    channel.flushed = sets
    channel.flush_end = channel.taken + channel.write_backs


@compiled
def l2_drain(state, ch: int) -> bool:
    """Return True if the memory has taken all sectors that waited for it at the first call."""
    channel, sets = state.channels[ch], state.slices[0].sets
    if channel.flushed < sets:
        _end_sets(channel, sets)
    return channel.taken >= channel.flush_end


@compiled
def l2_flush(state, ch: int, most: int) -> bool:
    """Flush a channel's slices for one cycle: each slice writes back one set, if there is space.

    Returns
    -------
    bool
        True if the memory has taken all sectors that were dirty before.
    """
    channel = state.channels[ch]
    sets = state.slices[0].sets
    if channel.flushed == sets:
        return channel.taken >= channel.flush_end
    slices = state.odd_slices << state.slice_bits
    for i in range(slices):
        if channel.write_backs + LINE_ATOMS * state.ways.shape[2] > max(
            most, LINE_ATOMS * state.ways.shape[2]
        ):
            return False
        where = ((ch * slices + i) * sets) + channel.flushed
        for way in range(state.ways.shape[2]):
            write_back(state, ch, where, way)
    if channel.flushed + 1 == sets:
        _end_sets(channel, sets)
    else:
        channel.flushed += 1
    return False


@inlined
def next_write_back(state, ch):
    """Next atom (in the channel) to write to the memory; there must be one."""
    return state.write_back[ch, state.channels[ch].write_back_head]


@inlined
def pop_write_back(state, ch):
    """Remove the oldest write-back, which the memory has taken."""
    channel = state.channels[ch]
    channel.write_back_head = (channel.write_back_head + 1) & (state.write_back.shape[1] - 1)
    channel.write_backs -= 1
    channel.taken += 1
