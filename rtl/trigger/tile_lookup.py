"""Lookup of a complete tile in the address map."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import CommandEntry, MapConfiguration, RangeEntry
from rtl.interface.layouts import Completion
from rtl.lib.compare import less_than
from rtl.lib.select import one_hot_first, one_hot_select, select_at
from rtl.parameters import T3Parameters

__all__ = ["TileEntry", "TileLookup"]


def TileEntry(p: T3Parameters):
    """Fields of a tile's range and command that the trigger unit needs.

    ``range`` is the range's number. ``action`` is NONE outside every range. ``waves`` is the number
    of wavefronts for the tile's edges.
    """
    of_range, of_command = RangeEntry(p).members, CommandEntry(p).members
    names = ("action", "first", "last")
    return data.StructLayout(
        {"range": range(p.ranges) if p.ranges > 1 else 1}
        | {name: of_range[name] for name in names}
        | {name: of_command[name] for name in ("granularity", "group_log2")}
        | {"waves": of_command["waves"].elem_shape}
    )


class TileLookup(wiring.Component):
    """Tile lookup: finds the lowest enabled range, of any region, with a tile's dispatch index.

    Members
    -------
    tile : In(:func:`Completion`)
    maps : In(:func:`MapConfiguration`)
    look : In(1)
        Look up the tile; ``o`` is valid in the next cycle.
    o : Out(:func:`TileEntry`)
        Result. Register.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "tile": In(Completion(p)),
                "maps": In(MapConfiguration(p)),
                "look": In(1),
                "o": Out(TileEntry(p)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ranges = self.maps.ranges
        dispatch_index, edges = (
            self.tile.dispatch_index,
            Cat(self.tile.outer_edge, self.tile.inner_edge),
        )
        hits = Signal(len(ranges))
        for index, entry in enumerate(ranges):
            m.d.comb += hits[index].eq(
                entry.enable
                & ~less_than(dispatch_index, entry.first)
                & ~less_than(entry.last, dispatch_index)
            )
        first = Signal.like(hits)
        m.d.comb += first.eq(one_hot_first(hits))

        with m.If(self.look):
            for name in self.o.shape().members:
                values = [
                    self._of_range(name, number, entry, edges)
                    for number, entry in enumerate(ranges)
                ]
                m.d.sync += Value.cast(self.o[name]).eq(one_hot_select(first, values))
        return m

    def _of_range(self, name: str, number: int, entry: data.View, edges: Value) -> Value:
        """Compute a field of the result for a range; its command is selected before the hit."""
        if name == "range":
            return Const(number, len(Value.cast(self.o.range)))
        if name in entry.shape().members:
            return entry[name]
        values = [command[name] for command in self.maps.commands]
        if name == "waves":
            values = [waves[edges] for waves in values]
        return select_at(entry.command, values)
