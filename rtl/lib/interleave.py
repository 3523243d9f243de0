"""Address interleaving: mapping from atoms to memory channels."""

from amaranth.hdl import Array, Cat, Const, Mux, Value

from rtl.parameters import T3Parameters

__all__ = ["CHANNEL_POLYNOMIALS", "REGION_ATOM_BITS", "channel_of", "check_channels"]

_PRIMITIVE = {
    1: 0b11,
    2: 0b111,
    3: 0b1011,
    4: 0b10011,
    5: 0b100101,
    6: 0b1000011,
    7: 0b10000011,
    8: 0b100011101,
}
"""Smallest primitive polynomial over GF(2) of each degree; bit *i* is the coefficient of x^i."""

CHANNEL_POLYNOMIALS = _PRIMITIVE | {bits: 1 << bits | 1 for bits in range(1, 6)}
"""Polynomial for each number of channel bits, if the number of channels is a power of two.

Up to 32 channels the polynomial is x^bits + 1, so the remainder is the exclusive-or of all groups
of channel bits. For more channels it is the smallest primitive polynomial, because with x^bits + 1
the rows of a tile would use only some of the channels. Other numbers of channels have primitive
polynomials, because rows are then also multiples of odd numbers apart."""

REGION_ATOM_BITS = 25
"""Width of an atom's address in a region. Each region of a memory whose number of channels is no
power of two is interleaved on its own, so that the remainder needs few address bits."""

_ROTATIONS = 256
_ROTATION_FACTOR, _ROTATION_SHIFT = 2654435761, 16  # Knuth's multiplicative hash


def check_channels(p: T3Parameters) -> None:
    """Check that every channel has an atom.

    Raises
    ------
    ValueError
        If an address is too short to reach every channel, or a region too small.
    """
    atoms = p.interleave_atoms * p.system_channels
    least = (p.atom_bytes * atoms - 1).bit_length()
    if p.address_bits < least:
        raise ValueError(
            f"address_bits must be at least {least} for every channel to have an atom, "
            f"not {p.address_bits!r}"
        )
    if _odd(p.system_channels) > 1 and atoms > 1 << REGION_ATOM_BITS:
        raise ValueError(
            f"interleave_atoms must be at most {(1 << REGION_ATOM_BITS) // p.system_channels} with "
            f"{p.system_channels} system_channels, not {p.interleave_atoms!r}"
        )


def channel_of(p: T3Parameters, atom: Value) -> Value:
    """Compute the channel of an atom address.

    The number of channels is a power of two times an odd number. The address bits above the
    interleave offset are a polynomial over GF(2). The low bits of the channel are the remainder of
    its division by a polynomial of that degree (Rau, ISCA 1991). Any group of consecutive
    address bits as wide as these low bits reaches all their values, so every power-of-two stride
    uses all of them.

    The rest of the channel's number is the remainder, by the odd number, of the address above the
    low bits in its region. It is rotated by a hash of the quotient, so that strides that are
    multiples of the odd number reach all channels.
    """
    odd = _odd(p.system_channels)
    offset_bits = (p.interleave_atoms - 1).bit_length()
    channel_bits = (p.system_channels // odd - 1).bit_length()
    block = Value.cast(atom)[offset_bits:]
    polynomials = _PRIMITIVE if odd > 1 else CHANNEL_POLYNOMIALS
    remainders = _remainders(polynomials[channel_bits], len(block)) if channel_bits else []
    low = Cat(
        Cat(block[i] for i, remainder in enumerate(remainders) if remainder >> bit & 1).xor()
        for bit in range(channel_bits)
    )
    if odd > 1:
        return Cat(low, _rotated(block[channel_bits : REGION_ATOM_BITS - offset_bits], odd))
    return low if channel_bits else Const(0, 1)


def _odd(channels: int) -> int:
    """Odd factor of a number of channels."""
    return channels // (channels & -channels)


def _rotated(value: Value, odd: int) -> Value:
    """Remainder of a division by an odd number, rotated by a hash of the quotient's remainder."""
    modulus = _ROTATIONS // odd * odd
    rotations = (number // odd * _ROTATION_FACTOR >> _ROTATION_SHIFT for number in range(modulus))
    sums = [(number + rotation) % odd for number, rotation in enumerate(rotations)]
    return Array(Const(one, range(odd)) for one in sums)[_modulo(value, modulus)]


def _modulo(value: Value, modulus: int) -> Value:
    """Remainder of a division by a constant: a tree over the remainders of the single bits."""
    terms = [Mux(bit, Const((1 << i) % modulus, range(modulus)), 0) for i, bit in enumerate(value)]
    while len(terms) > 1:
        terms = [_sum_modulo(terms[i : i + 2], modulus) for i in range(0, len(terms), 2)]
    return terms[0]


def _sum_modulo(terms: list[Value], modulus: int) -> Value:
    """Sum of one or two remainders, modulo."""
    total = sum(terms[1:], terms[0])
    return Mux(total >= modulus, total - modulus, total)[: (modulus - 1).bit_length()]


def _remainders(polynomial: int, count: int) -> list[int]:
    """Divide x^0, x^1, ... by a polynomial; return the remainders."""
    degree = polynomial.bit_length() - 1
    remainders = [1]
    while len(remainders) < count:
        following = remainders[-1] << 1
        if following >> degree:
            following ^= polynomial
        remainders.append(following)
    return remainders
