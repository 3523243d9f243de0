"""The golden model's arbiter behind the ports of the RTL's."""

from collections.abc import Collection, Mapping
from typing import Any

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.arbitration import MEASURING, arbitrate, measure
from tb.golden import golden_state, set_arbiter

__all__ = ["TOLD", "Model"]

TOLD = ("active", "relaxed", "critical", "congested")
"""What the criticality unit tells."""

_STREAMS = {0: "c", 1: "m", -1: None}


class Model:
    """The arbiter. The compute stream is ``"c"``, the communication stream ``"m"``."""

    def __init__(self, p: T3Parameters):
        self._state = golden_state(p)
        self._channel = self._state.channels[0]

    @property
    def starved(self) -> int:
        """Cycles for which communication has waited."""
        return int(self._channel["starved"])

    @property
    def compute_starved(self) -> int:
        """Cycles for which compute has waited."""
        return int(self._channel["compute_starved"])

    @property
    def level(self) -> int:
        """The threshold that was measured."""
        return int(self._channel["measured"])

    @property
    def samples(self) -> int | None:
        """Samples of the measurement that is under way."""
        return int(self._channel["count"]) if self._channel["measuring"] == MEASURING else None

    @property
    def total(self) -> int:
        """Sum of the samples."""
        return int(self._channel["sum"])

    def cycle(
        self,
        config: Mapping[str, Any],
        c: bool,
        m: bool,
        ready: bool,
        occupancy: int,
        start: bool,
        told: Collection[str] = (),
    ) -> str | None:
        """The stream that is offered in this cycle, or None.

        Parameters
        ----------
        config : mapping
            Fields of ``ArbiterConfiguration``.
        c, m : bool
            Whether the streams have a request.
        ready : bool
            Whether the queue takes it.
        occupancy : int
        start : bool
            Begin the measurement.
        told : collection of str
            Of :data:`TOLD`, those that are on.
        """
        set_arbiter(self._state, config)
        arbiter, channel = self._state.config["arbiter"], self._channel
        channel["occupancy"] = occupancy
        for name in TOLD:
            self._state.gpu[name] = name in told
        # What is offered does not depend on the queue; what is kept does.
        offered = arbitrate(self._state, channel.copy(), c, m, True)
        arbitrate(self._state, channel, c, m, ready)
        measure(arbiter, channel, start)
        return _STREAMS[offered]

    def preset_waits(self, communication: int, compute: int) -> None:
        """Go on as if each had waited for so many cycles."""
        self._channel["starved"], self._channel["compute_starved"] = communication, compute

    def preset(self, samples: int, total: int) -> None:
        """Go on as if so many samples with this sum had been taken."""
        self._channel["count"], self._channel["sum"] = samples, total
