"""The two endpoints of a link, without the wires between them."""

from amaranth.hdl import Const, Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.gating import clock_gated
from rtl.link.endpoint import LinkEndpoint
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters

__all__ = ["LINK", "PARAMETERS", "SIDES", "Endpoints"]

# Few sequence numbers, so that they wrap around often, and short times.
PARAMETERS = T3Parameters(
    contexts=1,
    address_bits=20,
    tile_atom_bits=7,
    workgroup_bits=2,
    sets=2,
    wavefronts=2,
    context_bits=1,
)
LINK = LinkParameters(
    replay_depth=32,
    receive_depth=32,
    sequence_bits=8,
    timeout_cycles=64,
    idle_cycles=16,
    down_cycles=256,
    lifetime_cycles=64,
    contexts=2,
    control_interval=8,
)
SIDES = ("a", "b")


def _make_resettable(endpoint: wiring.Component, reset: Signal) -> wiring.Component:
    """Give an endpoint a reset of its own, which enables its clock."""
    without_reset = endpoint.elaborate

    def elaborate(platform):
        m = without_reset(platform)
        with m.If(reset):
            m.d.comb += endpoint.clock_enable.eq(1)
        return ResetInserter(reset)(m)

    endpoint.elaborate = elaborate
    return endpoint


class Endpoints(wiring.Component):
    """Two clock-gated endpoints, ``a`` and ``b``, each with its ports and its own reset.

    Parameters
    ----------
    block : type
        The endpoint, or a copy of it.
    """

    def __init__(self, block: type[wiring.Component] = LinkEndpoint):
        self._endpoints = {side: block(PARAMETERS, LINK) for side in SIDES}
        super().__init__(
            {side: Out(each.signature) for side, each in self._endpoints.items()}
            | {f"{side}_reset": In(1) for side in SIDES}
        )

    def elaborate(self, platform):
        m = Module()
        for side, endpoint in self._endpoints.items():
            reset = getattr(self, f"{side}_reset")
            m.submodules[side] = clock_gated(_make_resettable(endpoint, reset))
            self._connect(m, getattr(self, side), endpoint)
        return m

    def _connect(self, m: Module, ports, endpoint) -> None:
        flat = zip(*(endpoint.signature.flatten(each) for each in (ports, endpoint)), strict=True)
        for (_, member, outside), (_, _, inside) in flat:
            if isinstance(outside, Const):  # `ready` of a stream that is always taken
                continue
            m.d.comb += inside.eq(outside) if member.flow is In else outside.eq(inside)
