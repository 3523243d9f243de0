"""Lookup of an address and a workgroup in the programmed output buffers, in two steps."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import LaunchConfiguration, MapConfiguration
from rtl.interface.encodings import Action, Datatype, Operation
from rtl.interface.layouts import Location
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["LocationLookup", "RangeLookup"]


class LocationLookup(wiring.Component):
    """Finds the region of an atom, and the dispatch index of a workgroup.

    Combinational. The lowest-numbered region wins. An atom of another context than the region's is
    not in the region.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    atom, context, workgroup : In
        What is looked up.
    maps : In(:func:`MapConfiguration`)
    launch_configuration : In(:func:`LaunchConfiguration`)
    location : Out(:func:`Location`)
        The region is 0 outside every region; the dispatch index is computed whether or not it is
        valid.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        super().__init__(
            {
                "atom": In(p.atom_address_bits),
                "context": In(p.context_bits),
                "workgroup": In(p.workgroup_bits),
                "maps": In(MapConfiguration(p)),
                "launch_configuration": In(LaunchConfiguration(p)),
                "location": Out(Location(p)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        regions, launch_configuration = self.maps.regions, self.launch_configuration

        hits = Signal(len(regions))
        for index, entry in enumerate(regions):
            m.d.comb += hits[index].eq(
                entry.enable
                & (entry.base <= self.atom)
                & (self.atom < entry.limit)
                & (entry.context == self.context)
            )

        workgroup = self.workgroup
        first, workgroups = launch_configuration.first_workgroup, launch_configuration.workgroups
        # Both dispatch indices at once; the comparison chooses late.
        direct = workgroup - first
        wrapped = workgroup + (workgroups - first)
        m.d.comb += [
            self.location.dispatch_index.eq(Mux(workgroup < first, wrapped, direct)),
            self.location.mapped.eq(hits.any()),
            self.location.region.eq(one_hot_select(one_hot_first(hits), range(len(regions)))),
            self.location.valid.eq(hits.any() & (workgroup < workgroups)),
        ]
        return m


class RangeLookup(wiring.Component):
    """Finds the range that holds a dispatch index of a region, and what its command does.

    Combinational. The lowest-numbered range wins.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    location : In(:func:`Location`)
        What is looked up.
    maps : In(:func:`MapConfiguration`)
    action : Out(:class:`Action`)
        The range's; NONE without one.
    command : Out
        Number of the range's command; 0 with action NONE.
    op : Out(:class:`Operation`)
    dtype : Out(:class:`Datatype`)
        The command's; 0 with action NONE.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        maps = MapConfiguration(p)
        super().__init__(
            {
                "location": In(Location(p)),
                "maps": In(maps),
                "action": Out(Action),
                "command": Out(range(p.commands) if p.commands > 1 else 1),
                "op": Out(Operation),
                "dtype": Out(Datatype),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ranges, commands, location = self.maps.ranges, self.maps.commands, self.location

        hits = Signal(len(ranges))
        for index, entry in enumerate(ranges):
            m.d.comb += hits[index].eq(
                location.valid
                & entry.enable
                & (entry.region == location.region)
                & (entry.first <= location.dispatch_index)
                & (location.dispatch_index <= entry.last)
            )
        first = Signal.like(hits)
        m.d.comb += first.eq(one_hot_first(hits))

        def command_of(entry):
            return commands[entry.command]

        m.d.comb += [
            Value.cast(self.action).eq(one_hot_select(first, [entry.action for entry in ranges])),
            self.command.eq(one_hot_select(first, [entry.command for entry in ranges])),
            # Of every range, before the hit is known.
            Value.cast(self.op).eq(one_hot_select(first, [command_of(e).op for e in ranges])),
            Value.cast(self.dtype).eq(one_hot_select(first, [command_of(e).dtype for e in ranges])),
        ]
        return m
