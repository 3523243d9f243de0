"""Inbound filter: decides whether a packet's context accepts packets of this kind from this GPU."""

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import AddressSpace, Inbound
from rtl.interface.encodings import PacketKind
from rtl.interface.layouts import LinkPacket
from rtl.lib.select import select_at
from rtl.parameters import T3Parameters

from .admission import is_end

__all__ = ["InboundLookup", "InboundTable", "inbound_table_of"]


def InboundTable(p: T3Parameters):
    """Inbound table of a context: its address spaces and its filter."""
    return data.StructLayout({"address_space": AddressSpace(p), "inbound": Inbound()})


def inbound_table_of(view: data.View) -> Value:
    """Extract a context's :func:`InboundTable` from its view."""
    return Cat(view.address_space, view.inbound)


class InboundLookup(wiring.Component):
    """Filter of inbound packets by sending GPU, kind, operation and data type.

    Combinational.

    Members
    -------
    packet : In(:func:`LinkPacket`)
    owner : In(owner_bits)
        Context of the packet, if it has one.
    tables : In(array of :func:`InboundTable`)
        Inbound table of each context.
    forbidden : Out(1)
        The owner does not accept the packet.
    unowned : Out(1)
        The packet is in no context's address space.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "packet": In(LinkPacket(p)),
                "owner": In(p.owner_bits),
                "tables": In(data.ArrayLayout(InboundTable(p), p.contexts)),
                "forbidden": Out(1),
                "unowned": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        spaces = [table.address_space for table in self.tables]
        known = Cat(space.enable & (space.local == self.packet.context) for space in spaces)
        takes = [self._takes(table.inbound) for table in self.tables]
        m.d.comb += [
            self.forbidden.eq(~select_at(self.owner, takes)),
            self.unowned.eq(~known.any()),
        ]
        return m

    def _takes(self, inbound: data.View) -> Value:
        """Test whether a context's filter accepts the packet."""
        packet = self.packet
        stores, updates = (
            sources.bit_select(packet.source, 1) for sources in (inbound.stores, inbound.updates)
        )
        # A marker belongs to updates or to stores.
        return Mux(
            packet.kind == PacketKind.UPDATE,
            updates
            & inbound.ops.bit_select(Value.cast(packet.op), 1)
            & inbound.dtypes.bit_select(Value.cast(packet.dtype), 1),
            stores | (updates & is_end(packet)),
        )
