"""Merge of all contexts' packets for the link, with a copy for each peer."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import RANK_BITS, PeerEntry
from rtl.interface.encodings import PacketKind
from rtl.interface.layouts import OwnedPacket, Packet
from rtl.lib.round_robin import Merge2
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.link.turns import RunMerge
from rtl.parameters import T3Parameters

__all__ = ["LinkMerge", "SendTable", "send_table_of"]

_OF_PEER = ("enable", "gpu", "space", "sends_stores", "sends_updates")


def SendTable(p: T3Parameters):
    """Table of a context's receivers: the peers with their permissions, and the own rank."""
    members = PeerEntry(p).members
    peer = data.StructLayout({name: members[name] for name in _OF_PEER})
    return data.StructLayout(
        {"aborting": 1, "rank": RANK_BITS, "peers": data.ArrayLayout(peer, p.peers)}
    )


def send_table_of(view: data.View) -> Value:
    """Extract a context's :func:`SendTable` from its view."""
    peers = (peer[name] for peer in view.peers for name in _OF_PEER)
    return Cat(view.aborting, view.rank, *peers)


def _may_get(packet: data.View, peers: data.View) -> Value:
    """Find the peers, one bit each, that may get a packet; a marker belongs to stores or to
    updates."""
    stores = packet.kind != PacketKind.UPDATE
    updates = (packet.kind == PacketKind.UPDATE) | (packet.kind == PacketKind.END)
    return Cat(
        peer.enable & ((stores & peer.sends_stores) | (updates & peer.sends_updates))
        for peer in peers
    )


class LinkMerge(wiring.Component):
    """Merge of the contexts' packets for which the link has space.

    A packet leaves as one copy for each of its peers that may get its kind, the lowest first,
    before the next packet of its context. A packet without such peers, and every packet of an
    aborting context, is taken and dropped. Combinational except for the state of the merges and the
    peers that have their copy.

    The contexts take turns of a run, so that a context's packets share frames of the link also
    while others send. A context waits for at most fifteen packets of each other one.

    A launch names only peers that may get its packets, but its ranges stay active when it has
    ended, and then the peers may change.

    Members
    -------
    remote, sends : In(stream).array(contexts)
        Remote stores and lane packets of each context.
    space : In(contexts)
        The link has space for a packet of the context.
    tables : In(array of :func:`SendTable`)
        Receivers of each context.
    o : Out(stream)
        Packets with their context.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    own : list of Merge2
        Merge of remote stores and lane packets, for each context. Its output passes once for each
        copy.
    merge : RunMerge
        Merge of the contexts.
    served : list of Signal
        Peers of each context's packet that have their copy; some have none yet.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "remote": In(stream.Signature(Packet(p))).array(p.contexts),
                "sends": In(stream.Signature(Packet(p))).array(p.contexts),
                "space": In(p.contexts),
                "tables": In(data.ArrayLayout(SendTable(p), p.contexts)),
                "o": Out(stream.Signature(OwnedPacket(p))),
                "clock_enable": Out(1),
            }
        )
        self.own = [Merge2(Packet(p)) for _ in range(p.contexts)]
        self.merge = RunMerge(OwnedPacket(p), p.contexts, lambda packet: packet.packet.atom)
        self.served = [Signal(p.peers, name=f"served_{number}") for number in range(p.contexts)]

    def elaborate(self, platform):
        m = Module()
        m.submodules.merge = merge = self.merge
        wiring.connect(m, merge.o, wiring.flipped(self.o))
        for number in range(len(self.own)):
            self._copy(m, number)
        taken = Cat(own.o.valid & own.o.ready for own in self.own)
        m.d.comb += self.clock_enable.eq(taken.any() | (merge.o.valid & merge.o.ready))
        return m

    def _copy(self, m: Module, number: int) -> None:
        """Offer the next copy of a context's packet to the merge of the contexts."""
        own, into, table = self.own[number], self.merge.i[number], self.tables[number]
        m.submodules[f"own_{number}"] = own
        served, packet = self.served[number], own.o.p
        waiting = Signal.like(served, name=f"waiting_{number}")
        to = Signal.like(served, name=f"to_{number}")
        drops, leaves = Signal(name=f"drops_{number}"), Signal(name=f"leaves_{number}")
        m.d.comb += [
            waiting.eq(packet.peers & _may_get(packet, table.peers) & ~served),
            to.eq(one_hot_first(waiting)),
            drops.eq(table.aborting | ~waiting.any()),
            leaves.eq(drops | ~(waiting & ~to).any()),
            into.valid.eq(own.o.valid & self.space[number] & ~drops),
            own.o.ready.eq((into.ready & self.space[number]) | drops),
        ]
        with m.If(own.o.valid & own.o.ready):
            m.d.sync += served.eq(Mux(leaves, 0, served | to))
        # Between two copies, the source of the last one goes on.
        for source, port, waits in (
            (self.remote[number], own.a, own.last),
            (self.sends[number], own.b, ~own.last),
        ):
            m.d.comb += [
                port.valid.eq(source.valid & ~(served.any() & waits)),
                port.p.eq(source.p),
                source.ready.eq(port.ready & leaves),
            ]
        sent, peers = into.p.packet, table.peers
        names = [name for name in packet.shape().members if name != "peers"]
        m.d.comb += [sent[name].eq(packet[name]) for name in names]
        m.d.comb += [
            sent.destination.eq(one_hot_select(to, [peer.gpu for peer in peers])),
            sent.source.eq(table.rank),
            sent.context.eq(one_hot_select(to, [peer.space for peer in peers])),
            into.p.owner.eq(number),
        ]
