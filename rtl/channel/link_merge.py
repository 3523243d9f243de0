"""Merge of all contexts' packets for the link."""

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import SOURCE_BITS
from rtl.interface.layouts import Packet
from rtl.lib.round_robin import Merge, Merge2
from rtl.parameters import T3Parameters

from .payloads import OwnedPacket

__all__ = ["LinkMerge"]


class LinkMerge(wiring.Component):
    """Merge of the contexts' packets for which the link has space.

    Combinational. Packets of an aborting context are taken and dropped.

    Members
    -------
    remote, sends : In(stream).array(contexts)
        Remote stores and lane packets of each context.
    space : In(contexts)
        The link has space for a packet of the context.
    aborting : In(contexts)
    number : In(5)
        Number of this GPU.
    o : Out(stream)
        Packets with their context and the GPU's number.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    own : list of Merge2
        Merge of remote stores and lane packets, for each context.
    merge : Merge
        Merge of the contexts.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "remote": In(stream.Signature(Packet(p))).array(p.contexts),
                "sends": In(stream.Signature(Packet(p))).array(p.contexts),
                "space": In(p.contexts),
                "aborting": In(p.contexts),
                "number": In(SOURCE_BITS),
                "o": Out(stream.Signature(OwnedPacket(p))),
                "clock_enable": Out(1),
            }
        )
        self.own = [Merge2(Packet(p)) for _ in range(p.contexts)]
        self.merge = Merge(OwnedPacket(p), p.contexts)

    def elaborate(self, platform):
        m = Module()
        m.submodules.merge = merge = self.merge
        wiring.connect(m, merge.o, wiring.flipped(self.o))
        for number, own in enumerate(self.own):
            m.submodules[f"own_{number}"] = own
            wiring.connect(m, wiring.flipped(self.remote[number]), own.a)
            wiring.connect(m, wiring.flipped(self.sends[number]), own.b)
            into, space, aborting = merge.i[number], self.space[number], self.aborting[number]
            m.d.comb += [
                into.valid.eq(own.o.valid & space & ~aborting),
                into.p.packet.eq(own.o.p),
                into.p.owner.eq(number),
                into.p.source.eq(self.number),
                own.o.ready.eq((into.ready & space) | aborting),
            ]
        taken = Cat(own.o.valid & own.o.ready for own in self.own)
        m.d.comb += self.clock_enable.eq(taken.any() | (merge.o.valid & merge.o.ready))
        return m
