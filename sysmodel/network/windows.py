"""Windows of the address space, by which a GPU addresses the memories of its peers.

Above the bits of a place in a memory, an address has the number of a window. Window 0 is the
neighbour downstream, window *k* the GPU *k* further on, and window *N*, with *N* GPUs, is all other
GPUs. Window *N* + 1 + *k* is the GPU *k* further on, or the sender itself if *k* is 0, where the
sum of the packets of all GPUs arrives. Between both lie bits that make the channel of the address
that of the place.
"""

from sysmodel.lib.interleave import MOST_CHANNELS, channel_of_atom

__all__ = ["PLACE_ATOM_BITS", "WINDOW_ATOM_BITS", "window_address_bits", "window_atoms"]

PLACE_ATOM_BITS = 42
"""Bits of an atom address below which it is a place in a memory: 128 TiB."""

_CHANNEL_BITS = (MOST_CHANNELS - 1).bit_length()
WINDOW_ATOM_BITS = PLACE_ATOM_BITS + _CHANNEL_BITS
"""First bit of the window's number in an atom address."""


def window_atoms(window: int, channels: int) -> int:
    """Find what is added to a place to address it in a window, in atoms.

    The sum has the channel of the place, in a memory of ``channels`` channels.
    """
    atoms = (
        (window << _CHANNEL_BITS | bits) << PLACE_ATOM_BITS for bits in range(1 << _CHANNEL_BITS)
    )
    low_bits = (channels & -channels) - 1
    return next(one for one in atoms if not channel_of_atom(one, 0, channels) & low_bits)


def window_address_bits(gpus: int, atom_bytes: int) -> int:
    """Width of a byte address with the windows of a number of GPUs."""
    last = 2 * gpus
    return WINDOW_ATOM_BITS + last.bit_length() + (atom_bytes - 1).bit_length()
