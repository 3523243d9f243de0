"""Inbound filter: decides whether a packet's context accepts such packets from its sender."""

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import Inbound, PeerEntry
from rtl.interface.encodings import PacketKind
from rtl.lib.select import select_at
from rtl.parameters import T3Parameters

from .admission import is_end
from .payloads import LocatedPacket

__all__ = ["InboundLookup", "InboundTable", "inbound_table_of"]

_OF_PEER = ("enable", "rank", "takes_stores", "takes_updates")


def InboundTable(p: T3Parameters):
    """Inbound table of a context: its filter, and what it takes from its peers."""
    members = PeerEntry(p).members
    peer = data.StructLayout({name: members[name] for name in _OF_PEER})
    return data.StructLayout(
        {
            "inbound": Inbound(),
            "peers": data.ArrayLayout(peer, p.peers),
        }
    )


def inbound_table_of(view: data.View) -> Value:
    """Extract a context's :func:`InboundTable` from its view."""
    peers = (peer[name] for peer in view.peers for name in _OF_PEER)
    return Cat(view.inbound, *peers)


class InboundLookup(wiring.Component):
    """Filter of inbound packets by sending peer, kind, operation and data type.

    Combinational.

    Members
    -------
    packet : In(:func:`LocatedPacket`)
    tables : In(array of :func:`InboundTable`)
        Inbound table of each context.
    forbidden : Out(1)
        The owner does not accept the packet.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "packet": In(LocatedPacket(p)),
                "tables": In(data.ArrayLayout(InboundTable(p), p.contexts)),
                "forbidden": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        takes = [self._takes(table) for table in self.tables]
        m.d.comb += self.forbidden.eq(~select_at(self.packet.location.owner, takes))
        return m

    def _takes(self, table: data.View) -> Value:
        """Test whether a context accepts the packet."""
        packet, inbound = self.packet, table.inbound
        senders = [(peer, peer.enable & (peer.rank == packet.source)) for peer in table.peers]
        stores, updates = (
            Cat(sends & peer[name] for peer, sends in senders).any()
            for name in ("takes_stores", "takes_updates")
        )
        # A marker belongs to updates or to stores.
        return Mux(
            packet.kind == PacketKind.UPDATE,
            updates
            & inbound.ops.bit_select(Value.cast(packet.op), 1)
            & inbound.dtypes.bit_select(Value.cast(packet.dtype), 1),
            stores | (updates & is_end(packet)),
        )
