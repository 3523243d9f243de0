"""Links of a GPU to other GPUs, one port to each, with the fabric between channels and ports."""

from amaranth.hdl import Cat, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import MOST_LINKS, ChannelSignature, ContextSignature
from rtl.lib.gating import clock_gated
from rtl.parameters import T3Parameters

from .endpoint import LinkEndpoint
from .fabric import Fabric, PortEntry
from .pair import LinkWiresSignature, reports
from .parameters import LinkParameters
from .port import LinkPort, connect_losses
from .ring import FROM_PEER, OF_CHANNEL, OF_CONTEXT, TO_PEER, connect_packets, only

__all__ = ["MeshLinks"]


class MeshLinks(wiring.Component):
    """Ports of a GPU in a group of fully connected GPUs, outside the top.

    Each port has an endpoint for one other GPU, which carries the packets of all channels and the
    control words of all contexts. Port *n* shows its words as those of peer *n* of every context,
    so entry *n* of each context's table of peers names the GPU of port *n*, or is not enabled. A
    context has the same number on all GPUs.

    Parameters
    ----------
    link : LinkParameters
        Sizes and times of each endpoint, for one channel.
    ports, lanes, port_depth : int
        See :class:`Fabric`; a context has at least as many peers as there are ports.

    Members
    -------
    channel, context : In
        Ports of the channels and contexts for other GPUs; see :class:`ChannelSignature` and
        :class:`ContextSignature`. A port reports errors as the channel of its number.
    wires : Out(:class:`LinkWiresSignature`).array(ports)
    gpus : In(array of :func:`PortEntry`)
        GPU of each port; see :class:`Fabric`.
    off : In
        Output ``link_off`` of the top: a bit for each port that privileged software takes down.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`, or ``link`` no :class:`LinkParameters`.
    ValueError
        If the link has several channels or another number of contexts, there are more ports than
        peers, or the fabric cannot be made.
    """

    def __init__(
        self,
        p: T3Parameters,
        link: LinkParameters,
        *,
        ports: int,
        lanes: int | None = None,
        port_depth: int = 17,
    ):
        self._fabric = Fabric(p, ports=ports, lanes=lanes, port_depth=port_depth)
        if not isinstance(link, LinkParameters):
            raise TypeError(f"Link must be LinkParameters, not {link!r}")
        if (link.channels, link.contexts) != (1, p.contexts):
            raise ValueError(
                f"The link must have 1 channel and {p.contexts} contexts, "
                f"not {link.channels} and {link.contexts}"
            )
        if ports > p.peers:
            raise ValueError(f"ports must be at most the peers of a context ({p.peers})")
        self._endpoints = [LinkEndpoint(p, link) for _ in range(ports)]
        self._ports = [LinkPort(p) for _ in range(ports)]
        super().__init__(
            {
                "channel": In(only(ChannelSignature(p), OF_CHANNEL)).array(p.channels),
                "context": In(only(ContextSignature(p), OF_CONTEXT)).array(p.contexts),
                "wires": Out(LinkWiresSignature(p, link)).array(ports),
                "gpus": In(data.ArrayLayout(PortEntry(), ports)),
                "off": In(min(p.channels, MOST_LINKS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.fabric = fabric = clock_gated(self._fabric)
        m.d.comb += fabric.gpus.eq(self.gpus)
        for channel, packets, arrivals in zip(self.channel, fabric.packets, fabric.o, strict=True):
            connect_packets(m, channel, packets)
            wiring.connect(m, arrivals, wiring.flipped(channel.link_in))
            # Arriving packets are always accepted, so no context blocks a port that works.
            m.d.comb += channel.link_space.eq(Cat(True for _ in self.context))
        for number in range(len(self._ports)):
            self._connect_port(m, number)
            self._connect_words(m, number)
        losses = [(port.lost, port.gpu, number) for number, port in enumerate(self._ports)]
        connect_losses(m, [*losses, (fabric.lost, fabric.gpu, 0)], self.context)
        return m

    def _connect_port(self, m: Module, number: int) -> None:
        """Connect a port to the fabric, its endpoint and its wires."""
        port, endpoint, wires = self._ports[number], self._endpoints[number], self.wires[number]
        m.submodules[f"port_{number}"] = clock_gated(port)
        m.submodules[f"endpoint_{number}"] = clock_gated(endpoint)
        wiring.connect(m, self._fabric.to_ports[number], port.packets[0])
        wiring.connect(m, port.o[0], endpoint.packets[0])
        wiring.connect(m, endpoint.o[0], self._fabric.from_ports[number])
        wiring.connect(m, endpoint.send, wiring.flipped(wires.send))
        wiring.connect(m, wiring.flipped(wires.receive), endpoint.receive)
        errors = self.channel[number]
        m.d.comb += [
            port.off.eq((self.off[number] if number < len(self.off) else 0) | wires.down),
            port.open.eq(endpoint.open),
            port.holds.eq(endpoint.holds),
            port.fails.eq(reports(endpoint, ErrorCode.LINK_DOWN)),
            endpoint.restart.eq(port.restart),
            errors.link_down.eq(port.goes_down),
            errors.link_reset.eq(reports(endpoint, ErrorCode.LINK_RESET)),
        ]

    def _connect_words(self, m: Module, number: int) -> None:
        """Connect the control words of all contexts to a port."""
        endpoint = self._endpoints[number]
        for index, context in enumerate(self.context):
            local, peer = endpoint.local_words[index], endpoint.peer_words[index]
            m.d.comb += [
                *(local[word].eq(getattr(context, port)) for port, word in TO_PEER.items()),
                *(
                    getattr(context, port)[number].eq(peer[word])
                    for port, word in FROM_PEER.items()
                ),
            ]
