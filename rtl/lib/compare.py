"""Comparators without a carry chain through all bits."""

from amaranth.hdl import Cat, Const, Value

__all__ = ["less_than", "sum_at_most", "sum_less_than"]

_BLOCK_BITS = 6


def _extend(values, width: int) -> list[Value]:
    return [Cat(value, Const(0, width - len(value))) for value in values]


def less_than(a: Value, b: Value) -> Value:
    """Compare ``a < b``, unsigned, in blocks of bits side by side."""
    common = min(len(a), len(b))
    less = Const(0, 1)
    for low in range(0, common, _BLOCK_BITS):
        high = min(low + _BLOCK_BITS, common)
        less = (a[low:high] < b[low:high]) | ((a[low:high] == b[low:high]) & less)
    # Only the wider operand has bits above the common width.
    return b[common:].any() | (~a[common:].any() & less)


def sum_at_most(a: Value, b: Value, limit: Value) -> Value:
    """Compare ``a + b <= limit``, unsigned and without overflow, without forming the sum."""
    return _at_most(a, b, limit, 0)


def sum_less_than(a: Value, b: Value, limit: Value) -> Value:
    """Compare ``a + b < limit``, unsigned and without overflow, without forming the sum."""
    return _at_most(a, b, limit, 1)


def _at_most(a, b, limit, carry: int) -> Value:
    """Compare ``a + b + carry <= limit``."""
    width = max(len(a) + 1, len(b) + 1, len(limit))
    a, b, limit = _extend((a, b, limit), width)
    # Equivalent: a + b + carry + ~limit < 2**width. In carry-save form the sum overflows if the
    # highest carry bit is set, or if the remaining addition carries out.
    ones = a ^ b ^ ~limit
    twos = (a & b) | ((a | b) & ~limit)
    return ~twos[-1] & ~less_than(~Cat(Const(carry, 1), twos[:-1]), ones)
