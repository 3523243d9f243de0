# amaranth: UnusedElaboratable=no
"""A GPU's two ends of links in a ring: one to the downstream GPU, and one to the upstream GPU."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket
from rtl.lib.sleep import may_sleep
from rtl.parameters import T3Parameters

from .endpoint import LinkEndpoint
from .layouts import ControlWord, Flit
from .parameters import LinkParameters

__all__ = ["LinkPair", "NeighboursSignature"]


class LinkWiresSignature(wiring.Signature):
    """The wires to one neighbour.

    Members
    -------
    send : Out(stream of :class:`Flit`)
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


class NeighboursSignature(wiring.Signature):
    """The wires to both neighbours in the ring.

    Members
    -------
    downstream, upstream : Out(:class:`LinkWiresSignature`)
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        wires = Out(LinkWiresSignature(p, link))
        super().__init__({"downstream": wires, "upstream": wires})


class LinkPair(wiring.Component):
    """The two endpoints of one physical link, and of the channels that share it.

    Packets come from the upstream GPU and go to the downstream one; control words go the other
    way. So each endpoint has memories for one direction.

    Parameters
    ----------
    p : T3Parameters
    link : LinkParameters
    has_words : bool
        This is the link that carries the words.

    Members
    -------
    packets : In(stream).array(channels)
        To the downstream GPU.
    o : Out(stream).array(channels)
        From the upstream GPU.
    tell : In(array of :func:`ControlWord`)
        For the upstream GPU, of each context.
    told : Out(array of :func:`ControlWord`)
        By the downstream GPU; 0 without a session.
    wires : Out(:class:`NeighboursSignature`)
    down, reset : Out(1)
        In this cycle one of the endpoints reports ``LINK_DOWN``, or ``LINK_RESET``.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters, *, has_words: bool):
        words = data.ArrayLayout(ControlWord(p), link.contexts)
        self._downstream, self._upstream = (
            LinkEndpoint(p, link, sends=sends, receives=not sends, has_words=has_words)
            for sends in (True, False)
        )
        packets = stream.Signature(LinkPacket(p))
        super().__init__(
            {
                "packets": In(packets).array(link.channels),
                "o": Out(packets).array(link.channels),
                "tell": In(words),
                "told": Out(words),
                "wires": Out(NeighboursSignature(p, link)),
                "down": Out(1),
                "reset": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        downstream, upstream = self._downstream, self._upstream
        m.submodules.downstream = may_sleep(downstream, platform)
        m.submodules.upstream = may_sleep(upstream, platform)
        for endpoint, wires in (
            (downstream, self.wires.downstream),
            (upstream, self.wires.upstream),
        ):
            wiring.connect(m, endpoint.send, wiring.flipped(wires.send))
            wiring.connect(m, wiring.flipped(wires.receive), endpoint.receive)
        for outside, inside in zip(self.packets, downstream.packets, strict=True):
            wiring.connect(m, wiring.flipped(outside), inside)
        for inside, outside in zip(upstream.o, self.o, strict=True):
            wiring.connect(m, inside, wiring.flipped(outside))
        m.d.comb += [
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
