"""The links of all channels of a top, with what its contexts tell and hear over them."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.signatures import ChannelSignature, ContextSignature, T3Signature
from rtl.parameters import T3Parameters

from .pair import LinkPair, LinkWiresSignature
from .parameters import LinkParameters

__all__ = ["RingLinks", "WiredT3Signature"]

# What the links have of a channel's ports, and of a context's.
_OF_CHANNEL = ("link_in", "link_out", "link_owner", "link_room", "link_down", "link_reset")
_TOLD = {
    "generation_in": "generation",
    "credit_limit_in": "credit_limit",
    "aborted_in": "aborted",
}
_TELLS = {"generation": "generation", "credit_limit_out": "credit_limit", "aborted": "aborted"}
_OF_CONTEXT = (*_TOLD, *_TELLS)


def _without(signature: wiring.Signature, names: tuple[str, ...]) -> dict[str, wiring.Member]:
    return {name: member for name, member in signature.members.items() if name not in names}


def _only(signature: wiring.Signature, names: tuple[str, ...]) -> wiring.Signature:
    return wiring.Signature({name: signature.members[name] for name in names})


class WiredChannelSignature(ChannelSignature):
    """Ports of one memory channel whose links are inside: instead of those that begin with
    ``link``, it has wires.

    Members
    -------
    downstream, upstream : Out(:class:`LinkWiresSignature`)
        To the neighbours in the ring.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        wires = Out(LinkWiresSignature(p, link))
        wiring.Signature.__init__(
            self,
            {
                **_without(ChannelSignature(p), _OF_CHANNEL),
                "downstream": wires,
                "upstream": wires,
            },
        )


class WiredContextSignature(ContextSignature):
    """Ports of one context without those for its neighbours."""

    def __init__(self, p: T3Parameters):
        wiring.Signature.__init__(self, _without(ContextSignature(p), _OF_CONTEXT))


class WiredT3Signature(T3Signature):
    """Ports of the top with its links.

    Members
    -------
    channel : array of :class:`WiredChannelSignature`
    context : array of :class:`WiredContextSignature`
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        wiring.Signature.__init__(
            self,
            {
                **T3Signature(p).members,
                "channel": Out(WiredChannelSignature(p, link)).array(p.channels),
                "context": Out(WiredContextSignature(p)).array(p.contexts),
            },
        )


class RingLinks(wiring.Component):
    """A pair of endpoints for each channel. The contexts' words go over channel 0's.

    A word says what its GPU admits in all channels at once, and it holds until the launch is over
    or given up. So it may be heard from any channel, at any time after it was told.

    Parameters
    ----------
    p : T3Parameters
    link : LinkParameters

    Members
    -------
    channel, context : In
        Ports of the channels and contexts for their neighbours; see :class:`ChannelSignature` and
        :class:`ContextSignature`.
    wires : Out
        Of each channel; see :class:`WiredChannelSignature`.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters` or ``link`` not a :class:`LinkParameters`.
    ValueError
        If the link is not for as many contexts, or control does not fit into a packet.
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
        self._p = p
        self._pairs = [LinkPair(p, link) for _ in range(p.channels)]
        wires = _only(WiredChannelSignature(p, link), ("downstream", "upstream"))
        super().__init__(
            {
                "channel": In(_only(ChannelSignature(p), _OF_CHANNEL)).array(p.channels),
                "context": In(_only(ContextSignature(p), _OF_CONTEXT)).array(p.contexts),
                "wires": Out(wires).array(p.channels),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for number, pair in enumerate(self._pairs):
            m.submodules[f"pair_{number}"] = pair
            channel = self.channel[number]
            wiring.connect(m, pair.downstream, wiring.flipped(self.wires[number].downstream))
            wiring.connect(m, pair.upstream, wiring.flipped(self.wires[number].upstream))
            wiring.connect(m, wiring.flipped(channel.link_out), pair.packets)
            wiring.connect(m, pair.o, wiring.flipped(channel.link_in))
            m.d.comb += [
                # What arrives is always taken, so a link that works stops for no context.
                channel.link_room.eq(Cat(True for _ in self.context)),
                channel.link_down.eq(pair.down),
                channel.link_reset.eq(pair.reset),
            ]
        first = self._pairs[0]
        for number, context in enumerate(self.context):
            tell, told = first.tell[number], first.told[number]
            m.d.comb += [tell[word].eq(getattr(context, port)) for port, word in _TELLS.items()]
            m.d.comb += [getattr(context, port).eq(told[word]) for port, word in _TOLD.items()]
        return m
