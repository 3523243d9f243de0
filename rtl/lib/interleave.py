"""Address interleaving: mapping from atoms to memory channels."""

from amaranth.hdl import Cat, Const, Value

from rtl.parameters import T3Parameters

__all__ = ["CHANNEL_POLYNOMIALS", "channel_of", "check_channels"]

CHANNEL_POLYNOMIALS = {
    **{bits: 1 << bits | 1 for bits in range(1, 6)},
    6: 0b1000011,
    7: 0b10000011,
    8: 0b100011101,
}
"""Polynomial over GF(2) for each number of channel bits; bit *i* is the coefficient of x^i.

Up to 32 channels the polynomial is x^bits + 1, so the remainder is the exclusive-or of all groups
of channel bits. For more channels it is the smallest primitive polynomial, because with x^bits + 1
the rows of a tile would use only some of the channels."""


def check_channels(p: T3Parameters) -> None:
    """Check that every channel has an atom.

    Raises
    ------
    ValueError
        If an address is too short to reach every channel.
    """
    least = (p.atom_bytes * p.interleave_atoms * p.system_channels - 1).bit_length()
    if p.address_bits < least:
        raise ValueError(
            f"address_bits must be at least {least} for every channel to have an atom, "
            f"not {p.address_bits!r}"
        )


def channel_of(p: T3Parameters, atom: Value) -> Value:
    """Compute the channel of an atom address.

    The address bits above the interleave offset are a polynomial over GF(2). The channel is the
    remainder of its division by the polynomial of the number of channels (Rau, ISCA 1991). Any
    group of consecutive address bits as wide as a channel number reaches all channels, so every
    power-of-two stride uses all of them.
    """
    offset_bits = (p.interleave_atoms - 1).bit_length()
    channel_bits = (p.system_channels - 1).bit_length()
    if channel_bits == 0:
        return Const(0, 1)
    block = Value.cast(atom)[offset_bits:]
    remainders = _remainders(channel_bits, len(block))
    return Cat(
        Cat(block[i] for i, remainder in enumerate(remainders) if remainder >> bit & 1).xor()
        for bit in range(channel_bits)
    )


def _remainders(degree: int, count: int) -> list[int]:
    """Divide x^0, x^1, ... by the channel polynomial of a degree; return the remainders."""
    remainders = [1]
    while len(remainders) < count:
        following = remainders[-1] << 1
        if following >> degree:
            following ^= CHANNEL_POLYNOMIALS[degree]
        remainders.append(following)
    return remainders
