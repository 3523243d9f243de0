# amaranth: UnusedElaboratable=no
"""All that leaves over the link, from the queues of the contexts into one."""

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
    """Chooses between the packets of the contexts, of those that the link has room for.

    Combinational. What a context that is aborting offers is taken and dropped.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    remote, sends : In(stream).array(contexts)
        Of each context: its remote stores, and its lane's packets.
    room : In(contexts)
        The link has room for a packet of the context.
    aborting : In(contexts)
    number : In(5)
        Of this GPU.
    o : Out(stream)
        Packets with their context and the number.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    own : list of Merge2
        Of each context's remote stores, and of its lane's packets.
    merge : Merge
        Of the contexts.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "remote": In(stream.Signature(Packet(p))).array(p.contexts),
                "sends": In(stream.Signature(Packet(p))).array(p.contexts),
                "room": In(p.contexts),
                "aborting": In(p.contexts),
                "number": In(SOURCE_BITS),
                "o": Out(stream.Signature(OwnedPacket(p))),
                "awake": Out(1),
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
            into, room, aborting = merge.i[number], self.room[number], self.aborting[number]
            m.d.comb += [
                into.valid.eq(own.o.valid & room & ~aborting),
                into.p.packet.eq(own.o.p),
                into.p.owner.eq(number),
                into.p.source.eq(self.number),
                own.o.ready.eq((into.ready & room) | aborting),
            ]
        taken = Cat(own.o.valid & own.o.ready for own in self.own)
        m.d.comb += self.awake.eq(taken.any() | (merge.o.valid & merge.o.ready))
        return m
