"""Pair of link endpoints of a GPU in a ring: to the downstream GPU and to the upstream GPU."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket
from rtl.lib.gating import clock_gated
from rtl.parameters import T3Parameters

from .endpoint import LinkEndpoint
from .layouts import ControlWord, Flit
from .parameters import LinkParameters

__all__ = ["LinkPair", "NeighboursSignature"]


class LinkWiresSignature(wiring.Signature):
    """Wires to one neighbour.

    Members
    -------
    send : Out(stream of :class:`Flit`)
    receive : In(stream of :class:`Flit`)
        Flits of the neighbour, always accepted.
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
    """Wires to both neighbours in the ring.

    Members
    -------
    downstream, upstream : Out(:class:`LinkWiresSignature`)
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        wires = Out(LinkWiresSignature(p, link))
        super().__init__({"downstream": wires, "upstream": wires})


class LinkPair(wiring.Component):
    """Pair of endpoints of one physical link, which several channels may share.

    Packets come from the upstream GPU and go to the downstream GPU; control words go in the
    opposite direction. So each endpoint has packet memories for one direction only.

    Parameters
    ----------
    has_words : bool
        The link carries the control words.

    Members
    -------
    packets : In(stream).array(channels)
        Packets to the downstream GPU, whatever their destination.
    o : Out(stream).array(channels)
        Packets from the upstream GPU.
    local_words : In(array of :func:`ControlWord`)
        Control word of each context for the upstream GPU.
    peer_words : Out(array of :func:`ControlWord`)
        Control words of the downstream GPU; 0 without a session.
    wires : Out(:class:`NeighboursSignature`)
    down, reset : Out(1)
        An endpoint reports ``LINK_DOWN``, or ``LINK_RESET``, in this cycle.
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
                "local_words": In(words),
                "peer_words": Out(words),
                "wires": Out(NeighboursSignature(p, link)),
                "down": Out(1),
                "reset": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        downstream, upstream = self._downstream, self._upstream
        m.submodules.downstream = clock_gated(downstream)
        m.submodules.upstream = clock_gated(upstream)
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
            upstream.local_words.eq(self.local_words),
            self.peer_words.eq(downstream.peer_words),
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
