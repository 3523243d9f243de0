"""Tracker counts: the events, entries and completions that a context has in the tracker."""

from sysmodel.lib.compiled import inlined

from ..records import Record, record

__all__ = [
    "TRACKER_COUNTS",
    "begin_counts",
    "change_entries",
    "count_entries",
    "drop_event",
    "has_tiles",
    "note_candidate",
    "note_completion",
    "note_event",
    "note_taken",
    "take_candidate",
]

TRACKER_COUNTS = record("entries entries_change entries_moved completions candidates flying")
"""Entries in the tables, their change in the last cycle, and the flag that an entry was made in it;
waiting completions; candidates of the front; and events in the banks' pipelines.
"""


@inlined
def has_tiles(own: Record) -> bool:
    """Return whether the tracker holds an event, an entry or a completion of the context."""
    return own.entries | own.entries_moved | own.candidates | own.flying | own.completions != 0


@inlined
def note_candidate(own: Record) -> None:
    """Count an event that becomes a candidate of the front."""
    own.candidates += 1


@inlined
def take_candidate(own: Record) -> None:
    """Count a candidate that a bank chooses."""
    own.candidates -= 1


@inlined
def note_event(own: Record) -> None:
    """Count an event that enters a bank's pipeline."""
    own.flying += 1


@inlined
def drop_event(own: Record) -> None:
    """Count an event that leaves a bank's pipeline."""
    own.flying -= 1


@inlined
def note_completion(own: Record) -> None:
    """Count a completion that waits."""
    own.completions += 1


@inlined
def note_taken(own: Record) -> None:
    """Count a completion that leaves."""
    own.completions -= 1


@inlined
def begin_counts(own: Record) -> None:
    """Begin a cycle, in which no entry has been made yet."""
    own.entries_moved = 0


@inlined
def change_entries(own: Record, change: int, made: bool) -> None:
    """Record that an event makes or frees an entry.

    Parameters
    ----------
    change : int
        1, -1 or 0.
    made : bool
        An entry is made.
    """
    own.entries_change += change
    own.entries_moved |= made


@inlined
def count_entries(own: Record, clear: bool) -> None:
    """Count the change of the last cycle, before the banks' own cycle.

    Parameters
    ----------
    clear : bool
        The context's entries are being cleared.
    """
    own.entries = 0 if clear else own.entries + own.entries_change
    own.entries_change = 0
