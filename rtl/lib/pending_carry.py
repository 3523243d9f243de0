"""Multi-cycle sums in two halves: the carry between the halves is added in the next cycle."""

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data

__all__ = ["Halves", "add", "carry_save", "join"]


def Halves(width: int):
    """Layout of a value whose upper half still lacks a carry."""
    return data.StructLayout({"low": width // 2, "carry": 1, "high": width - width // 2})


def add(halves: data.View, b: Value) -> Value:
    """Compute the halves of ``halves + b``, modulo two to the width."""
    half = len(halves.low)
    low = (halves.low + b[:half])[: half + 1]
    high = (halves.high + b[half:] + halves.carry)[: len(halves.high)]
    return Cat(low, high)


def join(halves: data.View) -> Value:
    """Add the pending carry, and return the whole value."""
    return Cat(halves.low, (halves.high + halves.carry)[: len(halves.high)])


def carry_save(a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """Reduce three addends to two with the same sum, modulo two to the width of the first, without
    a carry chain."""
    carries = (a & b) | (a & c) | (b & c)
    return (a ^ b ^ c)[: len(a)], Cat(Const(0, 1), carries)[: len(a)]
