"""Link endpoint of one channel, for a simulation without arrays of ports."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.link.endpoint import LinkEndpoint
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters

__all__ = ["OneChannelEndpoint"]


class OneChannelEndpoint(wiring.Component):
    """Wrapper of a :class:`LinkEndpoint` that replaces its one-element arrays of streams.

    Parameters
    ----------
    link : LinkParameters
        Link parameters for one channel.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters):
        self._endpoint = LinkEndpoint(p, link)
        super().__init__(
            {
                # The signature of an array's member already includes the flow.
                name: Out(member.signature) if member.dimensions else member
                for name, member in self._endpoint.signature.members.items()
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.endpoint = endpoint = self._endpoint
        for name, member in endpoint.signature.members.items():
            outside, inside = getattr(self, name), getattr(endpoint, name)
            if not member.is_port:
                inside = inside[0] if member.dimensions else inside
                wiring.connect(m, wiring.flipped(outside), inside)
            elif member.flow is In:
                m.d.comb += inside.eq(outside)
            else:
                m.d.comb += outside.eq(inside)
        return m
