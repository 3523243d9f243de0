"""Comparisons without a carry through all bits."""

from amaranth.hdl import Cat, Const, Value

__all__ = ["less_than", "sum_at_most", "sum_less_than"]

_BLOCK_BITS = 6


def _extend(values, width: int) -> list[Value]:
    return [Cat(value, Const(0, width - len(value))) for value in values]


def less_than(a: Value, b: Value) -> Value:
    """``a < b``, unsigned, by blocks that are compared side by side."""
    common = min(len(a), len(b))
    less = Const(0, 1)
    for low in range(0, common, _BLOCK_BITS):
        high = min(low + _BLOCK_BITS, common)
        less = (a[low:high] < b[low:high]) | ((a[low:high] == b[low:high]) & less)
    # Of the rest one has none.
    return b[common:].any() | (~a[common:].any() & less)


def sum_at_most(a: Value, b: Value, limit: Value) -> Value:
    """``a + b <= limit``, unsigned; the sum has all its bits, but is never formed."""
    return _at_most(a, b, limit, 0)


def sum_less_than(a: Value, b: Value, limit: Value) -> Value:
    """``a + b < limit``, unsigned; the sum has all its bits, but is never formed."""
    return _at_most(a, b, limit, 1)


def _at_most(a, b, limit, carry: int) -> Value:
    """``a + b + carry <= limit``."""
    width = max(len(a) + 1, len(b) + 1, len(limit))
    a, b, limit = _extend((a, b, limit), width)
    # That is: a + b + carry + ~limit < 2**width. In carry-save form, its highest bit is too much,
    # and so is a carry out of the others.
    ones = a ^ b ^ ~limit
    twos = (a & b) | ((a | b) & ~limit)
    return ~twos[-1] & ~less_than(~Cat(Const(carry, 1), twos[:-1]), ones)
