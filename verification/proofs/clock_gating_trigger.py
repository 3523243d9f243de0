"""Proofs of clock gating in a context's unit."""

from dataclasses import replace

from rtl.context.external_status import ExternalStatus
from rtl.context.peer_status import PeerStatus
from rtl.trigger.credit_window import CreditWindow
from rtl.trigger.criticality import Criticality
from rtl.trigger.range_limits import RangeLimits
from rtl.trigger.trigger import Trigger

from .clock_gating import ClockGatingHarness, clock_gating
from .range_limits import relate_rest
from .registers import GEOMETRY

__all__ = ["PROOFS"]

_P = replace(GEOMETRY, credit_window=4, command_depth=4)
_SIZE = "4 admitted workgroups, space for 4 commands, 2 ranges, 2 commands, addresses of 8 bits"


class _LimitsHarness(ClockGatingHarness):
    """Harness of the range limits, which rest without a launch and without a change."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        relate_rest(m, self._block)
        return m


PROOFS = (
    clock_gating("trigger", "a trigger unit", Trigger, _P, geometry=_SIZE),
    clock_gating("credit-window", "a credit window", CreditWindow, _P, geometry=_SIZE),
    clock_gating("criticality", "a criticality unit", Criticality, _P, geometry=_SIZE),
    clock_gating("outside-view", "the external status", ExternalStatus, _P, geometry=_SIZE),
    clock_gating("peer-status", "a peer's status", PeerStatus, _P, geometry=_SIZE),
    clock_gating(
        "range-limits",
        "the range limits",
        RangeLimits,
        _P,
        geometry=_SIZE,
        harness=_LimitsHarness,
    ),
)
