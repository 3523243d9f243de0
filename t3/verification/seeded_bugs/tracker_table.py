"""Tracker table with a gap between its memory and what is on its way there."""

from .bug import SeededBug

__all__ = ["TRACKER_TABLE"]

TRACKER_TABLE = SeededBug(
    module="rtl.tracker.table",
    block="TrackerTable",
    fault="a read does not see what is written in its cycle",
    right="by_earlier.eq(self.set_of_earlier & self.earlier_ways[way])",
    wrong="by_earlier.eq(0)",
)
