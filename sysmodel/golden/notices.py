"""A channel's queue of notices, in which the waiting updates of a tile become one event."""

from sysmodel.compiled import inlined

from .queues import Q, back, mark, record, waiting
from .state import UPDATES

__all__ = ["take_notice"]

_MOST = 15  # updates in one event


@inlined
def take_notice(channel, body, levels, heads, atom, place, wavefront):
    """Take one issued update, for which there is room.

    It joins its tile's event if one waits behind the head. The head stays as it is, because the
    tracker may take it in this cycle.

    Returns
    -------
    int
        Mark of the queue if a new event was pushed, or 0.
    """
    for position in range(1, waiting(levels, Q.notices)):
        at = record(body, heads, Q.notices, position)
        if (
            channel[at + UPDATES.place] == place
            and channel[at + UPDATES.wavefront] == wavefront
            and channel[at + UPDATES.count] < _MOST
        ):
            channel[at + UPDATES.count] += 1
            channel[at + UPDATES.atom] = min(channel[at + UPDATES.atom], atom)
            return 0
    to = back(body, levels, heads, Q.notices)
    channel[to + UPDATES.atom] = atom
    channel[to + UPDATES.place] = place
    channel[to + UPDATES.wavefront] = wavefront
    channel[to + UPDATES.count] = 1
    return mark(Q.notices)
