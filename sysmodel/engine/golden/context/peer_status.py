"""Status of a peer: the signals of another GPU, for the running launch."""

from rtl.interface.configuration import GENERATION_BITS
from sysmodel.engine.ports import J
from sysmodel.lib.compiled import inlined

from ..records import Record, Words, record

__all__ = ["PEER_STATUS", "step_peer_status"]

PEER_STATUS = record(
    "admitted aborts reported peer_known peer_stale old moved "
    "seen_admits seen_generation now_admits now_generation"
)
"""Slots that the peer admits. It has aborted the launch, which is reported in this cycle; the
report was made; its distance from the launch is known; it was behind as a launch began, and is at
the same launch since; it looks ahead, and shows an abort that may be older than the launch; a
register changed in the last cycle. The peer admits something, and its generation: ``seen`` is the
register's next value, and ``now`` its value in this cycle.
"""

_GENERATIONS = 1 << GENERATION_BITS
_HALF = _GENERATIONS // 2


@inlined
def _distance(generation: int, other: int) -> int:
    """Return how far a generation looks ahead of another: -8 to 7."""
    return (generation - other + _HALF) % _GENERATIONS - _HALF


@inlined
def _see(own: Record, limit: int, generation: int, aborted: int) -> bool:
    """Take the state of the peer for the launch check; return whether it changes. Its generation
    means nothing without a limit and an abort.
    """
    own.now_admits, own.now_generation = own.seen_admits, own.seen_generation
    own.seen_admits = limit != 0
    if limit != 0 or aborted != 0:
        own.seen_generation = generation
    return own.now_admits != own.seen_admits or own.now_generation != own.seen_generation


@inlined
def _admit(own: Record, launches: int, ahead: int, limit: int, most: int) -> int:
    """Return the slots that the peer admits."""
    if launches or ahead < 0 or limit == 0:
        return 0
    if ahead == 0:
        return limit
    # The peer has begun a later launch, and waits for no tile of this launch.
    return most if own.peer_known else 0


@inlined
def _look_for_abort(own: Record, launches: int, is_open: int, ahead: int, aborted: int) -> bool:
    """Report an abort of the launch by the peer; return whether a register changes.

    Parameters
    ----------
    ahead : int
        Distance of the peer from the launch.
    aborted : int
        Its aborts.
    """
    stale, old, reported, reports = own.peer_stale, own.old, own.reported, own.aborts
    shows = is_open != 0 and ahead >= 0 and aborted >> max(ahead, 0) & 1 != 0
    trusted = own.peer_known != 0 or (stale == 0 and old == 0)
    own.aborts = shows and launches == 0 and reported == 0 and trusted
    own.reported = launches == 0 and (reported != 0 or own.aborts != 0)
    stays = stale != 0 and own.seen_generation == own.now_generation
    own.peer_stale = stays or (launches != 0 and ahead < 0)
    own.old = shows and (ahead > 0 if launches else old != 0)
    changes = own.peer_stale != stale or own.old != old
    return changes or own.reported != reported or own.aborts != reports


@inlined
def _follow(own: Record, before: int, launches: int, is_open: int, ahead: int) -> bool:
    """Note whether the distance from the peer is known; return whether this changes.

    Parameters
    ----------
    before : int
        Generation of the launch in the last cycle.
    """
    known = own.peer_known
    if ahead <= 0:
        own.peer_known = known != 0 or (own.seen_admits != 0 and is_open != 0)
    elif launches and _distance(own.seen_generation, before) < 0:
        own.peer_known = 0  # it was behind, so it is not ahead now
    return own.peer_known != known


@inlined
def _rests(own: Record) -> bool:
    """Return whether the status of a peer that is not enabled cannot change without a launch."""
    return own.moved == 0 and own.seen_admits == 0 and own.old == 0 and own.aborts == 0


@inlined
def step_peer_status(
    own: Record,
    enable: int,
    generation: int,
    before: int,
    launches: int,
    is_open: int,
    most: int,
    inputs: Words,
    at: int,
) -> bool:
    """Take the inputs of the next cycle.

    Parameters
    ----------
    enable : int
        The context has the peer.
    generation, before : int
        Generation of the launch, in this cycle and in the last one.
    launches, is_open : int
        A launch begins in this cycle; a launch has begun since the last abort.
    most : int
        Highest credit limit.
    at : int
        Distance of the peer's inputs from those of the first context's first peer.

    Returns
    -------
    bool
        A register changes.
    """
    if enable == 0 and launches == 0 and _rests(own):
        return False
    limit = inputs[at + J.credit_limit_in_0] if enable else 0
    aborted = inputs[at + J.aborted_in_0] if enable else 0
    admitted = own.admitted
    changes = _see(own, limit, inputs[at + J.generation_in_0], aborted)
    ahead = _distance(own.seen_generation, generation)
    own.admitted = _admit(own, launches, ahead, limit, most)
    changes = _look_for_abort(own, launches, is_open, ahead, aborted) or changes
    changes = _follow(own, before, launches, is_open, ahead) or changes
    changes = changes or own.admitted != admitted
    own.moved = changes
    return changes
