"""Golden arbiter and its measurement, behind the ports of the RTL arbiter."""

from collections.abc import Collection

from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.channel.arbitration import arbitrate, measure
from tb.golden import set_arbiter_inputs

__all__ = ["step_unit"]


def step_unit(
    state: GoldenState, requests: str, signals: Collection[str], *, ready, occupancy, start
) -> str | None:
    """Advance the first channel's arbiter by one cycle in which the compute stream ``"c"``, the
    communication stream ``"m"``, or both have a request. Return the stream that is offered, or
    None."""
    channel, configuration = state.channels[0], state.config["arbiter"]
    arbiter, measurement = channel["arbiter"], channel["measurement"]
    set_arbiter_inputs(state, signals)
    inputs = configuration, state.gpu["arbiter_inputs"]
    given = int(measurement["measured"]), occupancy, "c" in requests, "m" in requests
    # The queue decides about the registers, but not about the offer.
    offered = arbitrate(*inputs, arbiter.copy(), *given, True)
    arbitrate(*inputs, arbiter, *given, ready)
    measure(configuration, measurement, occupancy, start)
    return {0: "c", 1: "m", -1: None}[offered]
