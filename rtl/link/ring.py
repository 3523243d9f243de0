"""Links of all channels of a top, with the control words of its contexts."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.signatures import (
    MOST_LINKS,
    ChannelSignature,
    ContextSignature,
    T3Signature,
)
from rtl.parameters import T3Parameters

from .pair import LinkPair, NeighboursSignature
from .parameters import LinkParameters
from .port import connect_losses

__all__ = [
    "FROM_PEER",
    "OF_CHANNEL",
    "OF_CONTEXT",
    "TO_PEER",
    "RingLinks",
    "WiredT3Signature",
    "connect_packets",
    "only",
]

# Ports of a channel, and of a context, that belong to the links.
OF_CHANNEL = ("link_in", "link_out", "link_owner", "link_space", "link_down", "link_reset")
FROM_PEER = {
    "generation_in": "generation",
    "credit_limit_in": "credit_limit",
    "aborted_in": "aborted",
}
TO_PEER = {"generation": "generation", "credit_limit_out": "credit_limit", "aborted": "aborted"}
OF_CONTEXT = (*FROM_PEER, *TO_PEER, "lost", "lost_gpu", "lost_port")


def _without(signature: wiring.Signature, names: tuple[str, ...]) -> dict[str, wiring.Member]:
    return {name: member for name, member in signature.members.items() if name not in names}


def only(signature: wiring.Signature, names: tuple[str, ...]) -> wiring.Signature:
    """Make the signature of these members alone."""
    return wiring.Signature({name: signature.members[name] for name in names})


class WiredChannelSignature(ChannelSignature):
    """Ports of one memory channel without those that begin with ``link``."""

    def __init__(self, p: T3Parameters):
        wiring.Signature.__init__(self, _without(ChannelSignature(p), OF_CHANNEL))


class WiredContextSignature(ContextSignature):
    """Ports of one context without those for its neighbours."""

    def __init__(self, p: T3Parameters):
        wiring.Signature.__init__(self, _without(ContextSignature(p), OF_CONTEXT))


class WiredT3Signature(T3Signature):
    """Ports of the top with its links.

    Members
    -------
    channel : array of :class:`WiredChannelSignature`
    context : array of :class:`WiredContextSignature`
    link : Out(:class:`NeighboursSignature`).array(links)
        Channel *c* uses link *c* modulo their number.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        wiring.Signature.__init__(
            self,
            {
                **T3Signature(p).members,
                "channel": Out(WiredChannelSignature(p)).array(p.channels),
                "context": Out(WiredContextSignature(p)).array(p.contexts),
                "link": Out(NeighboursSignature(p, link)).array(links(p, link)),
            },
        )


def links(p: T3Parameters, link: LinkParameters) -> int:
    """Compute the number of links that serve all channels.

    Raises
    ------
    ValueError
        If the links cannot share the channels evenly.
    """
    count, rest = divmod(p.channels, link.channels)
    if rest:
        raise ValueError(
            f"channels of the link must divide those of the hardware ({p.channels}), "
            f"not {link.channels!r}"
        )
    return count


def connect_packets(m: Module, channel, packets) -> None:
    """Connect a channel's packets for the link, with their contexts, to a stream."""
    source = channel.link_out
    m.d.comb += [
        packets.valid.eq(source.valid),
        packets.p.packet.eq(source.p),
        packets.p.owner.eq(channel.link_owner),
        source.ready.eq(packets.ready),
    ]


class RingLinks(wiring.Component):
    """Links to both neighbours, each for some of the channels. Control words use link 0.

    Every packet leaves for the downstream GPU, whatever its destination, and the downstream GPU is
    the first peer of every context. A control word applies to all channels, and stays valid until
    its launch has ended or is aborted. So it may arrive over any link, with any delay.

    Members
    -------
    channel, context : In
        Ports of the channels and contexts for their neighbours; see :class:`ChannelSignature` and
        :class:`ContextSignature`. A link reports errors as its lowest channel.
    wires : Out(:class:`NeighboursSignature`).array(links)
    off : In
        Links that privileged software takes down, one bit for each channel, at most 32.

    Raises
    ------
    ValueError
        If the link has another number of contexts, a control word does not fit into a packet, or
        links cannot share the channels evenly.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        if not isinstance(link, LinkParameters):
            raise TypeError(f"Link must be LinkParameters, not {link!r}")
        if link.contexts != p.contexts:
            raise ValueError(
                f"contexts of the link must be those of the hardware ({p.contexts}), "
                f"not {link.contexts!r}"
            )
        count = links(p, link)
        self._pairs = [LinkPair(p, link, has_words=number == 0) for number in range(count)]
        super().__init__(
            {
                "channel": In(only(ChannelSignature(p), OF_CHANNEL)).array(p.channels),
                "context": In(only(ContextSignature(p), OF_CONTEXT)).array(p.contexts),
                "wires": Out(NeighboursSignature(p, link)).array(count),
                "off": In(min(p.channels, MOST_LINKS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for number, pair in enumerate(self._pairs):
            m.submodules[f"pair_{number}"] = pair
            wires = self.wires[number]
            wiring.connect(m, pair.wires.downstream, wiring.flipped(wires.downstream))
            wiring.connect(m, pair.wires.upstream, wiring.flipped(wires.upstream))
            # Neighbouring channels, which a transfer uses in turn, are on different links.
            channels = [self.channel[c] for c in range(number, len(self.channel), len(self._pairs))]
            for place, channel in enumerate(channels):
                connect_packets(m, channel, pair.packets[place])
                wiring.connect(m, pair.o[place], wiring.flipped(channel.link_in))
                # Arriving packets are always accepted, so no context blocks a working link.
                m.d.comb += channel.link_space.eq(Cat(True for _ in self.context))
            reports = self.channel[number]
            m.d.comb += [
                reports.link_down.eq(pair.down),
                reports.link_reset.eq(pair.reset),
                pair.off.eq(self.off[number] if number < len(self.off) else 0),
            ]
        losses = [(pair.lost, pair.gpu, number) for number, pair in enumerate(self._pairs)]
        connect_losses(m, losses, self.context)
        first = self._pairs[0]
        for number, context in enumerate(self.context):
            local, peer = first.local_words[number], first.peer_words[number]
            m.d.comb += [local[word].eq(getattr(context, port)) for port, word in TO_PEER.items()]
            # The other peers admit nothing.
            m.d.comb += [
                getattr(context, port)[0].eq(peer[word]) for port, word in FROM_PEER.items()
            ]
        return m
