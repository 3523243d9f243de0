"""Lookup of an address and a workgroup in the programmed output buffers."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .layouts import Action, CommandEntry, MapConfiguration, ProductionConfiguration
from .parameters import T3Parameters

__all__ = ["AddressLookup"]


class AddressLookup(wiring.Component):
    """Finds the window of an atom, the place of a workgroup, and the range that holds it.

    Combinational. The lowest-numbered window and the lowest-numbered range win. An atom of another
    context than the window's is not in the window.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    atom, context, workgroup : In
        What is looked up.
    maps : In(:func:`MapConfiguration`)
    production : In(:func:`ProductionConfiguration`)
    mapped : Out(1)
        The atom is in a window.
    action : Out(:class:`Action`)
        The range's; NONE outside every window or range, and for a workgroup that the production
        does not have.
    place : Out(place_bits)
        The workgroup's place, whether or not the production has it.
    command : Out(:func:`CommandEntry`)
        The range's; all zeros with action NONE.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        super().__init__(
            {
                "atom": In(p.atom_address_bits),
                "context": In(p.context_bits),
                "workgroup": In(p.workgroup_bits),
                "maps": In(MapConfiguration(p)),
                "production": In(ProductionConfiguration(p)),
                "mapped": Out(1),
                "action": Out(Action),
                "place": Out(p.place_bits),
                "command": Out(CommandEntry(p)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p, maps, production = self._p, self.maps, self.production

        window_hit = Signal(p.windows)
        window = Signal.like(maps.ranges[0].window)
        for index in reversed(range(p.windows)):
            entry = maps.windows[index]
            m.d.comb += window_hit[index].eq(
                entry.enable
                & (entry.base <= self.atom)
                & (self.atom < entry.limit)
                & (entry.context == self.context)
            )
            with m.If(window_hit[index]):
                m.d.comb += window.eq(index)
        m.d.comb += self.mapped.eq(window_hit.any())

        first = production.first_workgroup
        wrap = Mux(self.workgroup < first, production.workgroups, 0)
        m.d.comb += self.place.eq(self.workgroup - first + wrap)

        valid = Signal()
        m.d.comb += valid.eq(self.mapped & (self.workgroup < production.workgroups))
        command = Signal.like(maps.ranges[0].command)
        # The last assignment wins: counting down leaves the lowest-numbered range.
        for index in reversed(range(p.ranges)):
            entry = maps.ranges[index]
            hit = (
                valid
                & entry.enable
                & (entry.window == window)
                & (entry.first <= self.place)
                & (self.place <= entry.last)
            )
            with m.If(hit):
                m.d.comb += [self.action.eq(entry.action), command.eq(entry.command)]

        with m.If(self.action != Action.NONE):
            with m.Switch(command):
                for index in range(p.commands):
                    with m.Case(index):
                        m.d.comb += self.command.eq(maps.commands[index])
        return m
