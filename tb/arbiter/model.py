"""Golden arbiter and measurement behind the ports of the RTL's arbiter."""

from collections.abc import Collection, Mapping
from typing import Any

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.channel.arbitration import MEASURING, arbitrate, measure
from tb.golden import ARBITER_INPUTS, golden_state, set_arbiter, set_arbiter_inputs

__all__ = ["SIGNALS", "Model"]

SIGNALS = tuple(ARBITER_INPUTS)
"""Signals of the criticality unit."""


class Model:
    """The arbiter. The compute stream is ``"c"``, the communication stream ``"m"``."""

    def __init__(self, p: T3Parameters):
        self._state = golden_state(p)
        channel = self._state.channels[0]
        self._arbiter, self._measurement = channel["arbiter"], channel["measurement"]

    starved = property(lambda self: int(self._arbiter["starved"]))
    compute_starved = property(lambda self: int(self._arbiter["compute_starved"]))
    level = property(lambda self: int(self._measurement["measured"]))
    total = property(lambda self: int(self._measurement["sample_sum"]))

    @property
    def samples(self) -> int | None:
        """Samples of an outstanding measurement."""
        own = self._measurement
        return int(own["samples"]) if own["measuring_step"] == MEASURING else None

    def cycle(
        self,
        config: Mapping[str, Any],
        c: bool,
        m: bool,
        ready: bool,
        occupancy: int,
        start: bool,
        signals: Collection[str] = (),
    ) -> str | None:
        """Move on by one cycle with these values of the ports; ``signals`` are those of
        :data:`SIGNALS` that are on. Return the stream that is offered, or None."""
        set_arbiter(self._state, config)
        set_arbiter_inputs(self._state, signals)
        configuration, inputs = self._state.config["arbiter"], self._state.gpu["arbiter_inputs"]
        given = int(self._measurement["measured"]), occupancy, c, m
        # The queue decides about the registers, but not about the offer.
        offered = arbitrate(configuration, inputs, self._arbiter.copy(), *given, True)
        arbitrate(configuration, inputs, self._arbiter, *given, ready)
        measure(configuration, self._measurement, occupancy, start)
        return {0: "c", 1: "m", -1: None}[offered]

    def preset_waits(self, communication: int, compute: int) -> None:
        """Continue as if each stream had waited for so many cycles."""
        self._arbiter["starved"], self._arbiter["compute_starved"] = communication, compute

    def preset(self, samples: int, total: int) -> None:
        """Continue as if so many samples with this sum had been taken."""
        self._measurement["samples"], self._measurement["sample_sum"] = samples, total
