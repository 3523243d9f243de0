"""Arbiter that lets communication starve."""

from .bug import SeededBug

__all__ = ["ARBITER"]

ARBITER = SeededBug(
    module="rtl.channel.arbiter",
    block="Arbiter",
    fault="no starvation rule",
    right="urgent.eq(starved >= config.starvation_limit)",
    wrong="urgent.eq(0)",
)
