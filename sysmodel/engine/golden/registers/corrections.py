"""Corrections: corrected bit errors, until the register counts them."""

from rtl.registers.map import GLOBAL
from sysmodel.lib.compiled import inlined

from ..records import Record, Records, record
from .words import R, count_up

__all__ = ["CORRECTIONS", "note_corrected", "note_corrected_next", "step_corrections"]

CORRECTIONS = record("corrected_next corrected corrected_before")
"""Flags: a bit error is corrected in the next cycle, in this cycle, or was corrected in the last
cycle.
"""


@inlined
def note_corrected(own: Record, corrected: bool) -> None:
    """Record a bit error that is corrected in this cycle."""
    own.corrected |= corrected


@inlined
def note_corrected_next(own: Record, corrected: bool) -> None:
    """Record a bit error that is read in this cycle, and corrected in the next one."""
    own.corrected_next |= corrected


@inlined
def step_corrections(own: Record, registers: Records) -> None:
    """Count the correction of the last cycle, at the end of a cycle."""
    if own.corrected_next | own.corrected | own.corrected_before:
        count_up(registers[GLOBAL, R.CORRECTED], own.corrected_before, 0xFFFFFFFF)
        own.corrected_before, own.corrected = own.corrected, own.corrected_next
        own.corrected_next = 0
