"""Proofs of clock gating in a context's unit."""

from dataclasses import replace

from rtl.context.external_status import ExternalStatus
from rtl.trigger.credit_window import CreditWindow
from rtl.trigger.criticality import Criticality
from rtl.trigger.trigger import Trigger

from .clock_gating import clock_gating
from .registers import GEOMETRY

__all__ = ["PROOFS"]

_P = replace(GEOMETRY, credit_window=4, command_depth=4)
_SIZE = "4 admitted workgroups, space for 4 commands, 2 ranges, 2 commands, addresses of 8 bits"

PROOFS = (
    clock_gating("trigger", "a trigger unit", Trigger, _P, geometry=_SIZE),
    clock_gating("credit-window", "a credit window", CreditWindow, _P, geometry=_SIZE),
    clock_gating("criticality", "a criticality unit", Criticality, _P, geometry=_SIZE),
    clock_gating("outside-view", "the external status", ExternalStatus, _P, geometry=_SIZE),
)
