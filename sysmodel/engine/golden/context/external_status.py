"""External status: signals of the downstream GPU and of the dispatcher, for the running launch."""

from rtl.interface.configuration import GENERATION_BITS
from sysmodel.engine.ports import J
from sysmodel.lib.compiled import inlined

from ..records import Record, Words, record

__all__ = ["EXTERNAL_STATUS", "step_external_status", "peer_aborts"]

EXTERNAL_STATUS = record(
    "own_generation own_aborted downstream dispatched finished progresses "
    "peer_aborted peer_reported peer_known peer_stale peer_old "
    "seen_admits seen_generation now_admits now_generation"
)
"""Generation that the ports show, and the aborts of its launch and of those before it; credit limit
of the downstream GPU; workgroups that were dispatched, and that ended; the latter has changed.

Of the downstream GPU: it has aborted the launch, which is reported in this cycle; the report was
made; its distance from the launch is known; it was behind as a launch began, and is at the same
launch since; it looks ahead, and shows an abort that may be older than the launch. It admits
something, and its generation: ``seen`` is the register's next value, and ``now`` its value in this
cycle.
"""

_GENERATIONS = 1 << GENERATION_BITS
_HALF = _GENERATIONS // 2


@inlined
def peer_aborts(own: Record) -> bool:
    """Return whether an abort of the launch by the downstream GPU is reported in this cycle."""
    return own.peer_aborted != 0


@inlined
def _distance(generation: int, other: int) -> int:
    """Return how far a generation looks ahead of another: -8 to 7."""
    return (generation - other + _HALF) % _GENERATIONS - _HALF


@inlined
def _see_downstream(own: Record, inputs: Words, at: int) -> bool:
    """Take the state of the downstream GPU for the launch check; return whether it changes. Its
    generation means nothing without a limit and an abort.
    """
    own.now_admits, own.now_generation = own.seen_admits, own.seen_generation
    own.seen_admits = inputs[at + J.credit_limit_in] != 0
    if own.seen_admits or inputs[at + J.aborted_in] != 0:
        own.seen_generation = inputs[at + J.generation_in]
    return own.now_admits != own.seen_admits or own.now_generation != own.seen_generation


@inlined
def _show_aborts(own: Record, generation: int, launches: int, cut_short: int) -> bool:
    """Take the generation and the abort for the upstream GPU; return whether they change."""
    shown, aborted = own.own_generation, own.own_aborted
    own.own_generation = generation
    if launches:
        # The bits are counted from the new launch on.
        own.own_aborted = aborted << (generation - shown) % _HALF & (1 << _HALF) - 1
    elif cut_short:
        own.own_aborted = aborted | 1
    return shown != generation or aborted != own.own_aborted


@inlined
def _admit(own: Record, launches: int, ahead: int, limit: int, most: int) -> int:
    """Return the dispatch indices that the downstream GPU admits."""
    if launches or ahead < 0 or limit == 0:
        return 0
    if ahead == 0:
        return limit
    # The downstream GPU has begun a later launch, and waits for no tile of this launch.
    return most if own.peer_known else 0


@inlined
def _look_for_abort(own: Record, launches: int, is_open: int, ahead: int, aborted: int) -> bool:
    """Report an abort of the launch by the downstream GPU; return whether a register changes.

    Parameters
    ----------
    ahead : int
        Distance of the downstream GPU from the launch.
    aborted : int
        Its aborts.
    """
    stale, old = own.peer_stale, own.peer_old
    reported, reports = own.peer_reported, own.peer_aborted
    shows = is_open != 0 and ahead >= 0 and aborted >> max(ahead, 0) & 1 != 0
    trusted = own.peer_known != 0 or (stale == 0 and old == 0)
    own.peer_aborted = shows and launches == 0 and reported == 0 and trusted
    own.peer_reported = launches == 0 and (reported != 0 or own.peer_aborted != 0)
    stays = stale != 0 and own.seen_generation == own.now_generation
    own.peer_stale = stays or (launches != 0 and ahead < 0)
    own.peer_old = shows and (ahead > 0 if launches else old != 0)
    changes = own.peer_stale != stale or own.peer_old != old
    return changes or own.peer_reported != reported or own.peer_aborted != reports


@inlined
def _follow_downstream(own: Record, before: int, launches: int, is_open: int, ahead: int) -> bool:
    """Note whether the distance from the downstream GPU is known; return whether this changes.

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
def step_external_status(
    own: Record,
    generation: int,
    launches: int,
    is_open: int,
    cut_short: int,
    most: int,
    inputs: Words,
    at: int,
) -> bool:
    """Take the inputs of the next cycle.

    Parameters
    ----------
    generation : int
        Generation of the launch.
    launches, is_open, cut_short : int
        A launch begins in this cycle; a launch has begun since the last abort; a launch is aborted
        before it is done.
    most : int
        Highest credit limit.
    at : int
        Index of the context's first input.

    Returns
    -------
    bool
        A register changes.
    """
    downstream, dispatched, finished = own.downstream, own.dispatched, own.finished
    progressed, before = own.progresses, own.own_generation
    changes = _see_downstream(own, inputs, at)
    ahead = _distance(own.seen_generation, generation)
    own.downstream = _admit(own, launches, ahead, inputs[at + J.credit_limit_in], most)
    changes = _look_for_abort(own, launches, is_open, ahead, inputs[at + J.aborted_in]) or changes
    changes = _follow_downstream(own, before, launches, is_open, ahead) or changes
    changes = _show_aborts(own, generation, launches, cut_short) or changes
    is_kernel = inputs[at + J.kernel_generation] == generation
    own.dispatched = inputs[at + J.dispatched] if is_kernel else 0
    own.finished = inputs[at + J.finished] if is_kernel else 0
    own.progresses = own.finished != finished
    changes = changes or own.downstream != downstream or own.dispatched != dispatched
    return changes or own.finished != finished or own.progresses != progressed
