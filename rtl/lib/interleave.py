"""Which channel holds an atom."""

from amaranth.hdl import Cat, Const, Value

from rtl.parameters import T3Parameters

__all__ = ["CHANNEL_POLYNOMIALS", "channel_of", "check_channels"]

CHANNEL_POLYNOMIALS = {
    **{bits: 1 << bits | 1 for bits in range(1, 6)},
    6: 0b1000011,
    7: 0b10000011,
    8: 0b100011101,
}
"""By channel bits, a polynomial over GF(2): bit *i* is the coefficient of x^i. Up to 32 channels it
is x^bits + 1, which makes the remainder the exclusive-or of all groups of channel bits; beyond, the
smallest primitive one, since the rows of a tile would keep to some of so many channels."""


def check_channels(p: T3Parameters) -> None:
    """See that every channel has an atom.

    Raises
    ------
    ValueError
        If an address is too short for that.
    """
    least = (p.atom_bytes * p.interleave_atoms * p.system_channels - 1).bit_length()
    if p.address_bits < least:
        raise ValueError(
            f"address_bits must be at least {least} for every channel to have an atom, "
            f"not {p.address_bits!r}"
        )


def channel_of(p: T3Parameters, atom: Value) -> Value:
    """Channel of an atom address: the remainder of its bits above the interleave offset, read as a
    polynomial over GF(2), by that of the number of channels (Rau, ISCA 1991).

    Any run of as many address bits as a channel has then reaches all channels, so no stride that is
    a power of two keeps to some.
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
    """Of x^0, x^1, ... by the polynomial of that degree."""
    remainders = [1]
    while len(remainders) < count:
        following = remainders[-1] << 1
        if following >> degree:
            following ^= CHANNEL_POLYNOMIALS[degree]
        remainders.append(following)
    return remainders
