"""Trace of a few tiles on each GPU: the cycles in which the first and the last atom is stored
locally, arrives from upstream, and is sent.
"""

from typing import Any

import numpy as np

from .compiled import inlined

__all__ = ["ARRIVED", "EVENTS", "MOST_FOLLOWED", "SENT", "STORED", "new_journal", "note"]

EVENTS = ("stored", "arrived", "sent")
STORED, ARRIVED, SENT = range(3)
MOST_FOLLOWED = 256  # tiles


def new_journal(gpus: int, workgroups: int) -> dict[str, np.ndarray]:
    """Make the trace's fields of the cycle loop's state, without a traced tile.

    ``followed[workgroup]`` is the row of the workgroup's first tile, or -1; ``journal[g, row,
    event]`` has the cycles of the event's first and last atom, or -1.
    """
    return {
        "followed": np.full(workgroups, -1, np.int64),
        "journal": np.full((gpus, MOST_FOLLOWED, len(EVENTS), 2), -1, np.int64),
    }


@inlined
def note(s: Any, g: int, event: int, workgroup: int, wavefront: int, now: int) -> None:
    """Record an event of an atom of a tile."""
    row = s.followed[workgroup]
    if row >= 0 and wavefront == 0:
        times = s.journal[g, row, event]
        if times[0] < 0:
            times[0] = now
        times[1] = now
