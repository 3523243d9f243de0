"""Trigger unit that does not wait for the last tile."""

from .bug import SeededBug

__all__ = ["TRIGGER"]

TRIGGER = SeededBug(
    module="rtl.trigger.trigger",
    block="Trigger",
    fault="a workgroup counts as complete one tile too early",
    right="full.eq((row.tiles + 1 == entry.waves) & ~row_lost)",
    wrong="full.eq((row.tiles + 2 == entry.waves) & ~row_lost)",
)
