"""A channel's links in a ring: one to the downstream GPU, and one to the upstream GPU."""

from dataclasses import replace

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket
from rtl.parameters import T3Parameters

from .endpoint import LinkEndpoint
from .layouts import ControlWord, Flit
from .parameters import LinkParameters

__all__ = ["LinkPair", "LinkWiresSignature"]

_LEAST_DEPTH = 4


class LinkWiresSignature(wiring.Signature):
    """The wires to one neighbour.

    Members
    -------
    send : Out(stream of :class:`Flit`)
        Always valid from the third cycle after reset on.
    receive : In(stream of :class:`Flit`)
        Always taken.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        flit = Flit(LinkPacket(p), link)
        super().__init__(
            {
                "send": Out(stream.Signature(flit)),
                "receive": In(stream.Signature(flit, always_ready=True)),
            }
        )


class LinkPair(wiring.Component):
    """The two endpoints of one channel.

    Packets come from the upstream GPU and go to the downstream one; control words go the other
    way. So of each link one direction has words alone, and memories as much smaller.

    Parameters
    ----------
    p : T3Parameters
    link : LinkParameters

    Members
    -------
    packets : In(stream)
        To the downstream GPU.
    o : Out(stream)
        From the upstream GPU.
    tell : In(array of :func:`ControlWord`)
        For the upstream GPU, of each context.
    told : Out(array of :func:`ControlWord`)
        By the downstream GPU; 0 without a session.
    downstream, upstream : Out(:class:`LinkWiresSignature`)
    down, reset : Out(1)
        In this cycle one of the endpoints reports ``LINK_DOWN``, or ``LINK_RESET``.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        words = data.ArrayLayout(ControlWord(p), link.contexts)
        depth = max(_LEAST_DEPTH, link.replay_depth // link.control_interval)
        self._downstream = LinkEndpoint(p, replace(link, receive_depth=depth))
        self._upstream = LinkEndpoint(p, replace(link, replay_depth=depth))
        super().__init__(
            {
                "packets": In(stream.Signature(LinkPacket(p))),
                "o": Out(stream.Signature(LinkPacket(p))),
                "tell": In(words),
                "told": Out(words),
                "downstream": Out(LinkWiresSignature(p, link)),
                "upstream": Out(LinkWiresSignature(p, link)),
                "down": Out(1),
                "reset": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.downstream = downstream = self._downstream
        m.submodules.upstream = upstream = self._upstream
        for endpoint, wires in ((downstream, self.downstream), (upstream, self.upstream)):
            wiring.connect(m, endpoint.send, wiring.flipped(wires.send))
            wiring.connect(m, wiring.flipped(wires.receive), endpoint.receive)
        wiring.connect(m, wiring.flipped(self.packets), downstream.packets)
        wiring.connect(m, upstream.o, wiring.flipped(self.o))
        m.d.comb += [
            # No packet comes from there.
            downstream.o.ready.eq(1),
            upstream.tell.eq(self.tell),
            self.told.eq(downstream.told),
            self.down.eq(self._reports(ErrorCode.LINK_DOWN)),
            self.reset.eq(self._reports(ErrorCode.LINK_RESET)),
        ]
        return m

    def _reports(self, code: ErrorCode):
        down, up = (
            endpoint.error.valid & (endpoint.error.report.code == code)
            for endpoint in (self._downstream, self._upstream)
        )
        return down | up
