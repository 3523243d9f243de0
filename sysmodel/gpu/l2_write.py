"""Writes into the L2: write-back, write-allocate, and the flush at a kernel's end.

A written sector is written whole, so that nothing is fetched for it.
"""

from sysmodel.lib.compiled import compiled, inlined

from .kernel import LINE_ATOMS
from .l2_tags import (
    DIRTY,
    USED,
    VALID,
    WRITE_BACKS,
    allocate,
    find_way,
    l2_slice,
    set_of,
    write_back,
)

__all__ = ["check_room", "l2_flush", "l2_write", "next_write_back", "pop_write_back"]


def check_room(queue: int, slices: int, mshrs: int) -> None:
    """Whether a channel's write-backs have room.

    Reads wait while ``queue`` sectors do, but every miss that is under way may still evict a line.

    Raises
    ------
    ValueError
        If they may be more than the model has room for.
    """
    most = queue + LINE_ATOMS * (1 + slices * mshrs)
    if most > WRITE_BACKS:
        raise ValueError(
            f"l2: a queue of {queue} sectors and {slices} slices of {mshrs} MSHRs may write back "
            f"{most} sectors of a channel at once, more than the {WRITE_BACKS} of the model"
        )


@compiled
def l2_write(state, ch: int, local_line: int, sector_mask: int, most: int) -> bool:
    """Write sectors of a line.

    Parameters
    ----------
    most : int
        Sectors that the channel's queue to the memory holds.

    Returns
    -------
    bool
        False if that queue has no room for what the write may evict. Then nothing happened, and
        the caller tries again later.
    """
    if state.channels[ch].write_backs + LINE_ATOMS > most:
        return False
    index = l2_slice(state, ch, local_line)
    where = set_of(state, index, local_line)
    way = find_way(state.ways, where, local_line)
    if way < 0:
        way = allocate(state, ch, where, local_line)
    s = state.slices[index]
    s.clock += 1
    state.ways[where, USED, way] = s.clock
    state.ways[where, VALID, way] |= sector_mask
    state.ways[where, DIRTY, way] |= sector_mask
    return True


@compiled
def l2_flush(state, ch: int, most: int) -> bool:
    """One cycle of writing back all that is dirty: each slice of a channel looks at a set, while
    its queue to the memory has room.

    Returns
    -------
    bool
        Nothing is dirty, or on its way, any more.
    """
    channel = state.channels[ch]
    sets = state.slices[0].sets
    if channel.flushed == sets:
        return channel.write_backs == 0
    for i in range(1 << state.slice_bits):
        if channel.write_backs + LINE_ATOMS * state.ways.shape[2] > max(
            most, LINE_ATOMS * state.ways.shape[2]
        ):
            return False
        where = (((ch << state.slice_bits) + i) * sets) + channel.flushed
        for way in range(state.ways.shape[2]):
            write_back(state, ch, where, way)
    channel.flushed += 1
    return False


@inlined
def next_write_back(channel):
    """Atom, in the channel, that is to be written to the memory next; there must be one."""
    return channel.write_back[channel.write_back_head]


@inlined
def pop_write_back(channel):
    """The memory has taken it."""
    channel.write_back_head = (channel.write_back_head + 1) & (WRITE_BACKS - 1)
    channel.write_backs -= 1
