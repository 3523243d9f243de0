"""Interleave of addresses: channel of an atom, and its address in the channel."""

import numpy as np

from .compiled import compiled

__all__ = ["channel_of_atom", "local_of_atom", "system_atom"]

_MOST_CHANNEL_BITS = 8

# Addresses are divided into parts, whose remainders come from a table.
_PART_BITS = 8
_PARTS = 8


def _remainder(dividend: int, divisor: int) -> int:
    """Remainder of polynomials over GF(2), in which bit *i* is the coefficient of x^i."""
    degree = divisor.bit_length() - 1
    while dividend >> degree:
        dividend ^= divisor << (dividend.bit_length() - 1 - degree)
    return dividend


def _polynomial(degree: int) -> int:
    """Divisor of the interleave: x^degree + 1 up to degree 5, then the smallest primitive one."""
    return 1 << degree | 1 if degree <= 5 else _primitive(degree)


def _primitive(degree: int) -> int:
    """Smallest polynomial of a degree for which the powers of x have all nonzero remainders."""
    for polynomial in range((1 << degree) + 1, 2 << degree, 2):
        powers = {_remainder(1 << i, polynomial) for i in range((1 << degree) - 1)}
        if powers == set(range(1, 1 << degree)):
            return polynomial
    raise AssertionError(degree)


def _remainders() -> np.ndarray:
    """Table of remainders by channel bits, part, and value of the part."""
    table = np.zeros((_MOST_CHANNEL_BITS + 1, _PARTS, 1 << _PART_BITS), np.int64)
    for channel_bits in range(1, _MOST_CHANNEL_BITS + 1):
        divisor = _polynomial(channel_bits)
        for part in range(_PARTS):
            table[channel_bits, part] = [
                _remainder(value << (_PART_BITS * part), divisor)
                for value in range(1 << _PART_BITS)
            ]
    return table


_REMAINDERS = _remainders()


@compiled
def channel_of_atom(atom: int, offset_bits: int, channel_bits: int) -> int:
    """Channel of a system atom address.

    It is the remainder of the bits above ``offset_bits``, which one channel holds contiguously, by
    a polynomial over GF(2) (Rau, ISCA 1991).
    """
    block = atom >> offset_bits
    channel = 0
    part = 0
    while block:
        channel ^= _REMAINDERS[channel_bits, part, block & ((1 << _PART_BITS) - 1)]
        block >>= _PART_BITS
        part += 1
    return channel


@compiled
def local_of_atom(atom: int, offset_bits: int, channel_bits: int) -> int:
    """Atom address inside the channel: the system address without the lowest channel bits.

    Channel and local address identify the atom, because the lowest bits are their own remainder:
    for given upper bits they map one to one to the channels.
    """
    offset = atom & ((1 << offset_bits) - 1)
    return ((atom >> (offset_bits + channel_bits)) << offset_bits) | offset


@compiled
def system_atom(channel: int, local: int, offset_bits: int, channel_bits: int) -> int:
    """System atom address of an atom address inside a channel."""
    above = (local >> offset_bits) << channel_bits
    lowest = channel ^ channel_of_atom(above, 0, channel_bits)
    offset = local & ((1 << offset_bits) - 1)
    return ((above | lowest) << offset_bits) | offset
