"""Scrubbing: walks that write corrected words back into the memories, in cycles without traffic."""

from rtl.registers.map import GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from .records import Record, Records, record
from .registers.injection import CORRECTED
from .registers.words import R, count_up

__all__ = [
    "SCRUBBER",
    "SCRUB_WALK",
    "is_timed",
    "note_scrubbed",
    "set_scrub_interval",
    "step_row_scrub",
    "step_scrub",
    "step_scrubber",
    "walks",
]

SCRUBBER = record("interval left scrub_strobe scrubbing scrubbed scrubbed_before")
"""Timer of the walks: its interval, the cycles left, and the strobe of a step; flag that an
interval was ever set; flags that a word is written back in this cycle, and was written back in the
last cycle.
"""
SCRUB_WALK = record("due reads row_checked corrects scrub_row seen disturbed")
"""Walk over a memory: flags that a step is due, that the walk reads its row, has checked it, and
writes it corrected; the row; and, for a memory of a trigger unit, the bit errors that were read,
and the flag that the unit wrote in the last cycle.
"""


@inlined
def set_scrub_interval(own: Record, cycles: int) -> None:
    """Set the interval of the walks' steps; 0 stops them."""
    own.interval = cycles
    own.scrubbing |= cycles != 0


@inlined
def note_scrubbed(own: Record, scrubbed: bool) -> None:
    """Record a word that is written back in this cycle."""
    own.scrubbed |= scrubbed


@compiled
def step_scrubber(own: Record, registers: Records) -> None:
    """Advance the timer by one cycle, and count the word that was written back in the last cycle;
    at the end of a cycle.
    """
    count_up(registers[GLOBAL, R.SCRUB_CORRECTED], own.scrubbed_before, 0xFFFFFFFF)
    own.scrubbed_before, own.scrubbed = own.scrubbed, 0
    ends = own.left <= 1
    own.scrub_strobe = ends and own.interval != 0
    own.left = own.interval if ends else own.left - 1


@inlined
def is_timed(own: Record) -> bool:
    """Return whether the timer counts."""
    return own.interval | own.left | own.scrub_strobe != 0


@inlined
def walks(own: Record, walk: Record) -> bool:
    """Return whether a step of a walk is due or outstanding, at the start of a cycle."""
    return own.scrub_strobe | walk.due | walk.reads | walk.row_checked | walk.corrects != 0


@inlined
def step_scrub(
    walk: Record, rows: int, strobe: int, undisturbed: bool, has_error: bool, busy: bool
) -> None:
    """Advance a walk by one cycle.

    Parameters
    ----------
    rows : int
        Rows of the memory.
    strobe : int
        A step is due.
    undisturbed : bool
        The memory was not written since the walk read its row.
    has_error : bool
        The row has a bit error that can be corrected.
    busy : bool
        The memory's port is in use.
    """
    corrects = False
    walk.row_checked = walk.reads and undisturbed
    if walk.row_checked:
        corrects = has_error
        if not has_error:
            walk.scrub_row = walk.scrub_row + 1 if walk.scrub_row + 1 < rows else 0
    reads = walk.due and not busy and not walk.reads and not walk.corrects
    walk.due = strobe or (walk.due and not reads)
    walk.reads, walk.corrects = reads, corrects


@inlined
def step_row_scrub(
    own: Record, walk: Record, rows: int, reads: bool, writes: bool, bits: int
) -> bool:
    """Advance the walk over a trigger unit's memory by one cycle, after the unit's own cycle.

    Parameters
    ----------
    own : record
        Record :data:`SCRUBBER`.
    reads, writes : bool
        The unit reads the memory, or writes it.
    bits : int
        Bit errors of the walk's row.

    Returns
    -------
    bool
        The row is written back, corrected.
    """
    fixes = walk.corrects and not writes
    undisturbed = not writes and not walk.disturbed
    step_scrub(walk, rows, own.scrub_strobe, undisturbed, walk.seen == CORRECTED, reads)
    walk.seen, walk.disturbed = bits, writes
    note_scrubbed(own, fixes)
    return fixes
