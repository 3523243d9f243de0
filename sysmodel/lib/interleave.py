"""Interleave of addresses: channel of an atom, and its address in the channel.

The number of channels is a power of two times an odd number. A channel's number has low bits, by a
polynomial over GF(2), and a part above them, by the odd number. Blocks are what one channel holds
contiguously.
"""

from functools import cache
from itertools import product

import numpy as np

from .compiled import compiled, inlined

__all__ = ["MOST_CHANNELS", "REGION_ATOM_BITS", "channel_of_atom", "local_of_atom", "system_atom"]

MOST_CHANNELS = 256
REGION_ATOM_BITS = 25
"""Address bits of a region of 1 GiB, on which the odd number's part depends alone: buffers that are
whole regions apart have the same channels."""

# Addresses are divided into parts, whose remainders come from a table.
_PART_BITS = 8
_PARTS = 8

_ROTATIONS = 256
_ROTATION_FACTOR, _ROTATION_SHIFT = 2654435761, 16  # Knuth's multiplicative hash


def _remainder(dividend: int, divisor: int) -> int:
    """Remainder of polynomials over GF(2), in which bit *i* is the coefficient of x^i."""
    degree = divisor.bit_length() - 1
    while dividend >> degree:
        dividend ^= divisor << (dividend.bit_length() - 1 - degree)
    return dividend


def _polynomial(channels: int) -> int:
    """Divisor of the interleave: x^degree + 1 if the number of channels is a power of two up to 32,
    otherwise the smallest primitive one."""
    power = channels & -channels
    degree = power.bit_length() - 1
    return power | 1 if channels == power and degree <= 5 else _primitive(degree)


@cache
def _primitive(degree: int) -> int:
    """Smallest polynomial of a degree for which the powers of x have all nonzero remainders."""
    if degree == 0:
        return 1
    for polynomial in range((1 << degree) + 1, 2 << degree, 2):
        powers = {_remainder(1 << i, polynomial) for i in range((1 << degree) - 1)}
        if powers == set(range(1, 1 << degree)):
            return polynomial
    raise AssertionError(degree)


def _remainders() -> tuple[np.ndarray, np.ndarray]:
    """Table of remainders by row, part, and value of the part; and each number of channels' row."""
    divisors = [1] + [_polynomial(channels) for channels in range(1, MOST_CHANNELS + 1)]
    distinct = sorted(set(divisors))
    table = np.zeros((len(distinct), _PARTS, 1 << _PART_BITS), np.int64)
    for divisor, part in product(distinct, range(_PARTS)):
        table[distinct.index(divisor), part] = [
            _remainder(value << (_PART_BITS * part), divisor) for value in range(1 << _PART_BITS)
        ]
    return table, np.array([distinct.index(divisor) for divisor in divisors])


def _rotated() -> np.ndarray:
    """Table by number of channels and value: the remainder of the value by the odd number, rotated
    by a hash of the quotient."""
    table = np.zeros((MOST_CHANNELS + 1, _ROTATIONS), np.int16)
    for channels in range(1, MOST_CHANNELS + 1):
        odd = int(_ODD[channels])
        for value in range(_ROTATIONS // odd * odd if odd > 1 else 0):
            rotation = value // odd * _ROTATION_FACTOR >> _ROTATION_SHIFT
            table[channels, value] = (value + rotation) % odd
    return table


_REMAINDERS, _REMAINDER_ROW = _remainders()
_NUMBERS = np.arange(MOST_CHANNELS + 1)
_LOW_BITS = np.array([max(0, (n & -n).bit_length() - 1) for n in _NUMBERS.tolist()])
_ODD = _NUMBERS >> _LOW_BITS
_QUOTIENTS = _ROTATIONS // np.maximum(_ODD, 1)  # quotients with a rotation of their own
_MODULI = _QUOTIENTS * np.maximum(_ODD, 1)
_ROTATED = _rotated()


@inlined
def _low_channel(block: int, channels: int) -> int:
    """Low bits of the channel of a block."""
    row = _REMAINDER_ROW[channels]
    channel: int = np.int64(0)
    part = 0
    while block:
        channel ^= _REMAINDERS[row, part, block & ((1 << _PART_BITS) - 1)]
        block >>= _PART_BITS
        part += 1
    return channel


@compiled
def channel_of_atom(atom: int, offset_bits: int, channels: int) -> int:
    """Channel of a system atom address, in a memory of ``channels`` channels.

    Its low bits are the remainder of the bits above ``offset_bits``, which one channel holds
    contiguously, by a polynomial over GF(2) (Rau, ISCA 1991). The part above them is the remainder
    of the bits above the low bits, in their region, by the odd number. It is rotated by a hash of
    the quotient, so that strides that are multiples of the odd number reach all channels.
    """
    bits = _LOW_BITS[channels]
    low = _low_channel(atom >> offset_bits, channels)
    if _ODD[channels] == 1:
        return low
    above = (atom & ((1 << REGION_ATOM_BITS) - 1)) >> (offset_bits + bits)
    channel: int = np.int64(_ROTATED[channels, above % _MODULI[channels]]) << bits | low
    return channel


@inlined
def _region_blocks(odd: int, above_bits: int) -> int:
    """Blocks of a region in each channel: the last ones of some channels have no address."""
    return ((1 << above_bits) + odd - 1) // odd


@compiled
def local_of_atom(atom: int, offset_bits: int, channels: int) -> int:
    """Atom address inside the channel: the system address without the lowest channel bits, and
    above its offset divided by the odd number.

    Channel and local address identify the atom. For given upper bits, the lowest bits map one to
    one to the low bits of the channel, because they are their own remainder; for a given quotient,
    the remainder maps one to one to the channel's upper part.
    """
    bits: int = _LOW_BITS[channels]
    odd: int = _ODD[channels]
    offset = atom & ((1 << offset_bits) - 1)
    if odd == 1:
        return ((atom >> (offset_bits + bits)) << offset_bits) | offset
    region = atom >> REGION_ATOM_BITS
    above_bits = REGION_ATOM_BITS - offset_bits - bits
    above = (atom >> (offset_bits + bits)) & ((1 << above_bits) - 1)
    block = region * _region_blocks(odd, above_bits) + above // odd
    return (block << offset_bits) | offset


@compiled
def system_atom(channel: int, local: int, offset_bits: int, channels: int) -> int:
    """System atom address of an atom address inside a channel."""
    bits: int = _LOW_BITS[channels]
    odd: int = _ODD[channels]
    above = local >> offset_bits
    if odd > 1:
        above_bits = REGION_ATOM_BITS - offset_bits - bits
        blocks = _region_blocks(odd, above_bits)
        region, quotient = above // blocks, above % blocks
        rotation = _ROTATED[channels, quotient % _QUOTIENTS[channels] * odd]
        remainder = ((channel >> bits) - rotation) % odd
        above = (region << above_bits) + quotient * odd + remainder
    above <<= bits
    lowest = (channel & ((1 << bits) - 1)) ^ _low_channel(above, channels)
    offset = local & ((1 << offset_bits) - 1)
    return ((above | lowest) << offset_bits) | offset
