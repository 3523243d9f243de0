"""Multiplexers and priority encoders of logarithmic depth."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Mux, Value, ValueLike

__all__ = ["one_hot_first", "one_hot_select", "select_at"]


def one_hot_first(requests: Value) -> Value:
    """Isolate the lowest set bit; 0 without one."""
    return Cat(bit & ~requests[:index].any() for index, bit in enumerate(requests))


def one_hot_select(one_hot: Value, values: Iterable[ValueLike]) -> Value:
    """Select the value at the set bit; 0 without one."""
    chosen = []
    for bit, value in zip(one_hot, values, strict=True):
        value = Value.cast(value)
        # Each replica of an expression would be evaluated separately in a simulation.
        chosen.append(Mux(bit, value, Const(0, len(value))))
    # Without values the result is 0.
    return reduce(or_, chosen, Const(0, 1))


def select_at(index: Value, values: Sequence[ValueLike]) -> Value:
    """Select the value at an index; 0 beyond the last."""
    return one_hot_select(Cat(index == number for number in range(len(values))), values)
