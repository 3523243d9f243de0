"""Selection, as deep as the logarithm of the number of choices."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Mux, Value, ValueLike

__all__ = ["one_hot_first", "one_hot_select", "select_at"]


def one_hot_first(requests: Value) -> Value:
    """The lowest bit that is set, alone; 0 without one."""
    return Cat(bit & ~requests[:index].any() for index, bit in enumerate(requests))


def one_hot_select(one_hot: Value, values: Iterable[ValueLike]) -> Value:
    """The value at the bit that is set; 0 without one."""
    chosen = []
    for bit, value in zip(one_hot, values, strict=True):
        value = Value.cast(value)
        # Not replicated: each copy of an expression would be hardware of its own in a simulation.
        chosen.append(Mux(bit, value, Const(0, len(value))))
    # A choice that is 0 has no bits.
    return reduce(or_, chosen, Const(0, 1))


def select_at(index: Value, values: Sequence[ValueLike]) -> Value:
    """The value at an index; 0 beyond the last."""
    return one_hot_select(Cat(index == number for number in range(len(values))), values)
