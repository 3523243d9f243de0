"""Trigger unit that does not wait for the last tile."""

from .bug import SeededBug

__all__ = ["TRIGGER"]

TRIGGER = SeededBug(
    module="rtl.trigger.trigger",
    block="Trigger",
    fault="a workgroup counts as complete one tile too early",
    right="sums.full.eq((row.tiles + 1 == entry.waves) & ~self.fetch.row_lost)",
    wrong="sums.full.eq((row.tiles + 2 == entry.waves) & ~self.fetch.row_lost)",
)
