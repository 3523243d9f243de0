"""Pair of link endpoints of a GPU in a ring: to the downstream GPU and to the upstream GPU."""

from amaranth.hdl import Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import GPU_BITS
from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket, OwnedPacket
from rtl.lib.gating import clock_gated
from rtl.parameters import T3Parameters

from .endpoint import LinkEndpoint
from .layouts import ControlWord, Flit
from .parameters import LinkParameters
from .port import LinkPort

__all__ = ["LinkPair", "LinkWiresSignature", "NeighboursSignature", "reports"]


def reports(endpoint: LinkEndpoint, code: ErrorCode) -> Value:
    """Test whether an endpoint reports an error in this cycle."""
    return endpoint.error.valid & (endpoint.error.report.code == code)


class LinkWiresSignature(wiring.Signature):
    """Wires to another GPU.

    Members
    -------
    send : Out(stream of :class:`Flit`)
    receive : In(stream of :class:`Flit`)
        Flits of the other GPU, always accepted.
    down : In(1)
        The physical layer reports that the wires do not work.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        flit = Flit(LinkPacket(p), link)
        super().__init__(
            {
                "send": Out(stream.Signature(flit)),
                "receive": In(stream.Signature(flit, always_ready=True)),
                "down": In(1),
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
    packets : In(stream of :func:`OwnedPacket`).array(channels)
        Packets to the downstream GPU, whatever their destination.
    o : Out(stream).array(channels)
        Packets from the upstream GPU.
    local_words : In(array of :func:`ControlWord`)
        Control word of each context for the upstream GPU.
    peer_words : Out(array of :func:`ControlWord`)
        Control words of the downstream GPU; 0 without a session.
    wires : Out(:class:`NeighboursSignature`)
    off : In(1)
        Privileged software takes both links down.
    down, reset : Out(1)
        A link goes down, or an endpoint reports ``LINK_RESET``, in this cycle.
    lost, gpu : Out
        See :class:`LinkPort`.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters, *, has_words: bool):
        words = data.ArrayLayout(ControlWord(p), link.contexts)
        self._downstream, self._upstream = (
            LinkEndpoint(p, link, sends=sends, receives=not sends, has_words=has_words)
            for sends in (True, False)
        )
        self._port = LinkPort(p, link.channels)
        packets = stream.Signature(LinkPacket(p))
        super().__init__(
            {
                "packets": In(stream.Signature(OwnedPacket(p))).array(link.channels),
                "o": Out(packets).array(link.channels),
                "local_words": In(words),
                "peer_words": Out(words),
                "wires": Out(NeighboursSignature(p, link)),
                "off": In(1),
                "down": Out(1),
                "reset": Out(1),
                "lost": Out(p.contexts),
                "gpu": Out(GPU_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        downstream, upstream, port = self._downstream, self._upstream, self._port
        m.submodules.downstream = clock_gated(downstream)
        m.submodules.upstream = clock_gated(upstream)
        m.submodules.port = clock_gated(port)
        for endpoint, wires in (
            (downstream, self.wires.downstream),
            (upstream, self.wires.upstream),
        ):
            wiring.connect(m, endpoint.send, wiring.flipped(wires.send))
            wiring.connect(m, wiring.flipped(wires.receive), endpoint.receive)
        for outside, through in zip(self.packets, port.packets, strict=True):
            wiring.connect(m, wiring.flipped(outside), through)
        for through, inside in zip(port.o, downstream.packets, strict=True):
            wiring.connect(m, through, inside)
        for inside, outside in zip(upstream.o, self.o, strict=True):
            wiring.connect(m, inside, wiring.flipped(outside))
        m.d.comb += [
            upstream.local_words.eq(self.local_words),
            self.peer_words.eq(downstream.peer_words),
            port.off.eq(self.off | self.wires.downstream.down),
            port.open.eq(downstream.open),
            port.holds.eq(downstream.holds),
            port.fails.eq(reports(downstream, ErrorCode.LINK_DOWN)),
            downstream.restart.eq(port.restart),
            upstream.restart.eq(self.off | self.wires.upstream.down),
            self.down.eq(port.goes_down | reports(upstream, ErrorCode.LINK_DOWN)),
            self.reset.eq(
                reports(downstream, ErrorCode.LINK_RESET) | reports(upstream, ErrorCode.LINK_RESET)
            ),
            self.lost.eq(port.lost),
            self.gpu.eq(port.gpu),
        ]
        return m
