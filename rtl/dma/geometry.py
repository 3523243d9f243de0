"""Which part of a tile a command moves, and for which workgroup; each in one cycle."""

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from rtl.lib.compare import less_than, sum_at_most, sum_less_than

__all__ = ["share", "workgroup_of"]


def share(total: Value, begin: Value, size: Value) -> tuple[Value, Value]:
    """Length of the part of ``total`` that begins at ``begin`` and is at most ``size`` long, and
    whether there is any, which is known earlier."""
    begins = less_than(begin, total)
    rest = (total - begin)[: len(total)]
    length = Mux(sum_at_most(begin, size, total), size, Mux(begins, rest, 0))
    return length, begins & size.any()


def workgroup_of(dispatch_index: Value, launch_configuration: data.View) -> Value:
    """The workgroup at a dispatch index of the dispatch order."""
    first, workgroups = launch_configuration.first_workgroup, launch_configuration.workgroups
    # Both at once; the comparison chooses late.
    direct = dispatch_index + first
    wrapped = dispatch_index + (first - workgroups)
    return Mux(sum_less_than(dispatch_index, first, workgroups), direct, wrapped)[
        : len(dispatch_index)
    ]
