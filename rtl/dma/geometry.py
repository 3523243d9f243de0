"""Geometry of a command: its part of a tile, and its workgroup, each computed in one cycle."""

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from rtl.lib.compare import less_than, sum_at_most, sum_less_than

__all__ = ["share", "workgroup_of"]


def share(total: Value, begin: Value, size: Value) -> tuple[Value, Value]:
    """Compute the length of the part of ``total`` that begins at ``begin`` and has at most ``size``
    elements, and whether it is non-empty, which is available earlier."""
    begins = less_than(begin, total)
    rest = (total - begin)[: len(total)]
    length = Mux(sum_at_most(begin, size, total), size, Mux(begins, rest, 0))
    return length, begins & size.any()


def workgroup_of(dispatch_index: Value, launch_configuration: data.View) -> Value:
    """Compute the workgroup at a dispatch index."""
    first, workgroups = launch_configuration.first_workgroup, launch_configuration.workgroups
    # Both candidates are computed in parallel; the comparison selects late.
    direct = dispatch_index + first
    wrapped = dispatch_index + (first - workgroups)
    return Mux(sum_less_than(dispatch_index, first, workgroups), direct, wrapped)[
        : len(dispatch_index)
    ]
