"""Rooms of a context's unit that sleep."""

from dataclasses import replace

from rtl.context.outside_view import OutsideView
from rtl.trigger.credit_window import CreditWindow
from rtl.trigger.criticality import Criticality
from rtl.trigger.trigger import Trigger

from .registers import GEOMETRY
from .sleep import sleeps

__all__ = ["PROOFS"]

_P = replace(GEOMETRY, credit_window=4, command_depth=4)
_SIZE = "4 workgroups under way, room for 4 commands, 2 ranges, 2 commands, addresses of 8 bits"

PROOFS = (
    sleeps("trigger", "a trigger unit", Trigger, _P, geometry=_SIZE),
    sleeps("credit-window", "a credit window", CreditWindow, _P, geometry=_SIZE),
    sleeps("criticality", "a criticality unit", Criticality, _P, geometry=_SIZE),
    sleeps("outside-view", "a view of the outside", OutsideView, _P, geometry=_SIZE),
)
