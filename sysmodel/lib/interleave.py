"""Which channel holds an atom, and where in the channel it lies.

A sample of the channels may have every ``1 << step_bits``-th one, numbered from 0.
"""

from .compiled import compiled

__all__ = ["channel_of_atom", "local_of_atom", "system_atom"]


@compiled
def channel_of_atom(atom: int, offset_bits: int, channel_bits: int, step_bits: int = 0) -> int:
    """Channel of a system atom address: the exclusive-or of all groups of ``channel_bits`` bits
    above the ``offset_bits`` that one channel holds contiguously. One that is not in the sample has
    a number beyond."""
    if channel_bits == 0:
        return 0
    block = atom >> offset_bits
    channel = 0
    while block:
        channel ^= block
        block >>= channel_bits
    channel &= (1 << channel_bits) - 1
    if channel & ((1 << step_bits) - 1):
        return 1 << channel_bits
    return channel >> step_bits


@compiled
def local_of_atom(atom: int, offset_bits: int, channel_bits: int) -> int:
    """Atom address inside the channel: the system's, without the lowest channel bits.

    With the channel it names the atom uniquely, because for given upper bits the exclusive-or
    maps the lowest group one to one onto the channels.
    """
    offset = atom & ((1 << offset_bits) - 1)
    return ((atom >> (offset_bits + channel_bits)) << offset_bits) | offset


@compiled
def system_atom(
    channel: int, local: int, offset_bits: int, channel_bits: int, step_bits: int = 0
) -> int:
    """System atom address of an atom address inside a channel."""
    above = local >> offset_bits
    lowest = (channel << step_bits) ^ channel_of_atom(above, 0, channel_bits)
    offset = local & ((1 << offset_bits) - 1)
    return (((above << channel_bits) | lowest) << offset_bits) | offset
