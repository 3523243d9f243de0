"""Tags of the L2: lines with valid and dirty sectors, and the queue of write-backs."""

import numpy as np

from sysmodel.lib.bits import popcount
from sysmodel.lib.compiled import compiled

from .atoms import LINE_ATOM_BITS, LINE_ATOMS

__all__ = [
    "DIRTY",
    "LINE",
    "USED",
    "VALID",
    "allocate",
    "find_way",
    "l2_slice",
    "set_of",
    "write_back",
]

# Fields of a set's ways.
LINE, VALID, USED, DIRTY = range(4)


@compiled
def _fold(value, bits):
    """Compute the exclusive-or of all groups of ``bits`` bits."""
    if bits == 0:
        return np.int64(0)
    if bits == 1:
        return popcount(value) & 1
    folded = np.int64(0)
    while value:
        folded ^= value
        value >>= bits
    return folded & ((np.int64(1) << bits) - 1)


@compiled
def l2_slice(state, ch: int, local_line: int) -> int:
    """Index of the slice that serves a line.

    The number of slices is a power of two times an odd number: the line is divided by the odd
    number, the quotient is folded, so that every stride uses all slices, and the remainder selects
    the rest.
    """
    if state.odd_slices == 1:
        return (ch << state.slice_bits) + _fold(local_line, state.slice_bits)
    quotient = local_line // state.odd_slices
    rest = ch * state.odd_slices + local_line - quotient * state.odd_slices
    return (rest << state.slice_bits) + _fold(quotient, state.slice_bits)


@compiled
def set_of(state, index: int, local_line: int) -> int:
    """Row of ``ways`` for a line of slice ``index``; a set is selected as a slice is."""
    s, line = state.slices[index], local_line
    if state.odd_slices > 1:
        line //= state.odd_slices
    line >>= state.slice_bits
    if s.odd_sets == 1:
        return index * s.sets + _fold(line, s.set_bits)
    quotient = line // s.odd_sets
    rest = line - quotient * s.odd_sets
    return index * s.sets + (rest << s.set_bits | _fold(quotient, s.set_bits))


@compiled
def find_way(ways: np.ndarray, where: int, local_line: int) -> int:
    """Way of a set that holds a line, or -1."""
    found = -1
    for way in range(ways.shape[2]):  # no early exit, so the compiler vectorises the loop
        if ways[where, LINE, way] == local_line:
            found = way
    return found


@compiled
def allocate(state, ch: int, where: int, local_line: int) -> int:
    """Replace the least recently used line of a set by a new one; return its way."""
    ways = state.ways
    way, least = 0, ways[where, USED, 0]
    for other in range(1, ways.shape[2]):
        if ways[where, USED, other] < least:
            way, least = other, ways[where, USED, other]
    write_back(state, ch, where, way)
    s = state.slices[where // state.slices[0].sets]
    s.clock += 1
    ways[where, LINE, way] = local_line
    ways[where, VALID, way] = 0
    ways[where, USED, way] = s.clock
    return way


@compiled
def write_back(state, ch: int, where: int, way: int) -> None:
    """Queue a line's dirty sectors for the memory; they stay in the L2 as clean."""
    dirty = state.ways[where, DIRTY, way]
    if dirty == 0:
        return
    state.ways[where, DIRTY, way] = 0
    channel, mask = state.channels[ch], state.write_back.shape[1] - 1
    for sector in range(LINE_ATOMS):
        if dirty >> sector & 1:
            i = (channel.write_back_head + channel.write_backs) & mask
            state.write_back[ch, i] = state.ways[where, LINE, way] << LINE_ATOM_BITS | sector
            channel.write_backs += 1
