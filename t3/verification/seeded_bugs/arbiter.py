"""Arbiter that lets communication starve."""

from .copy import BrokenCopy

__all__ = ["ARBITER"]

ARBITER = BrokenCopy(
    module="rtl.channel.arbiter",
    block="Arbiter",
    fault="no starvation rule",
    right="urgent.eq(starved >= config.starvation_limit)",
    wrong="urgent.eq(0)",
)
