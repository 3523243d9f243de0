"""Arbiter that lets communication starve."""

from .bug import SeededBug

__all__ = ["ARBITER"]

ARBITER = SeededBug(
    module="rtl.channel.arbitration.arbiter",
    block="Arbiter",
    fault="no starvation rule",
    right="starved=self.starved,",
    wrong="starved=self.starved & 0,",
)
