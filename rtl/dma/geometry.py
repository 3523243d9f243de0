"""Geometry of a command: its part of a tile, computed in one cycle."""

from amaranth.hdl import Mux, Value

from rtl.lib.compare import less_than, sum_at_most

__all__ = ["share"]


def share(total: Value, begin: Value, size: Value) -> tuple[Value, Value]:
    """Compute the length of the part of ``total`` that begins at ``begin`` and has at most ``size``
    elements, and whether it is non-empty, which is available earlier."""
    begins = less_than(begin, total)
    rest = (total - begin)[: len(total)]
    length = Mux(sum_at_most(begin, size, total), size, Mux(begins, rest, 0))
    return length, begins & size.any()
