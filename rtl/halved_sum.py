"""Sums whose carry chain is half as long as they are wide."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal, Value, signed

__all__ = ["halved_sum"]


def halved_sum(
    m: Module, plus: Sequence[Value], minus: Sequence[Value] = (), *, width: int
) -> Value:
    """The sum of ``plus`` less the sum of ``minus``, all unsigned, modulo ``2**width``.

    Mapping to gates leaves a plain sum as one chain of carries. Here the upper half is worked out
    for every carry that the lower one can give, and the carry chooses.
    """
    half = width // 2

    def total(low: int, high: int) -> Value:
        return sum(value[low:high] for value in plus) - sum(value[low:high] for value in minus)

    terms = len(plus) + len(minus)
    lower = Signal(signed(half + terms.bit_length() + 1))
    carry = Signal(signed(len(lower) - half))
    m.d.comb += [lower.eq(total(0, half)), carry.eq(lower >> half)]
    upper = Signal(width - half)
    m.d.comb += upper.eq(total(half, width))
    for value in range(-len(minus), len(plus)):
        if value:
            with m.If(carry == value):
                m.d.comb += upper.eq(total(half, width) + value)
    return Cat(lower[:half], upper)
