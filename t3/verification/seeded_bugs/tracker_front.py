"""Tracker front that floods the banks."""

from .bug import SeededBug

__all__ = ["TRACKER_FRONT"]

TRACKER_FRONT = SeededBug(
    module="rtl.tracker.front",
    block="TrackerFront",
    fault="gives a bank events that it has no room for",
    right="grants.eq(Mux(self.room[bank], pick.grant, 0))",
    wrong="grants.eq(pick.grant)",
)
