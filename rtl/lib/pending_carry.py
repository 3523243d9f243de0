"""Sums over several cycles, in halves: the carry between them waits for the next cycle."""

from amaranth.hdl import Cat, Value
from amaranth.lib import data

__all__ = ["Halves", "add", "join"]


def Halves(width: int):
    """A value whose upper half still lacks a carry."""
    return data.StructLayout({"low": width // 2, "carry": 1, "high": width - width // 2})


def add(halves: data.View, b: Value) -> Value:
    """The halves of ``halves + b``, modulo two to the width."""
    half = len(halves.low)
    low = (halves.low + b[:half])[: half + 1]
    high = (halves.high + b[half:] + halves.carry)[: len(halves.high)]
    return Cat(low, high)


def join(halves: data.View) -> Value:
    """The value."""
    return Cat(halves.low, (halves.high + halves.carry)[: len(halves.high)])
