"""External status: signals of the dispatcher for the running launch, the aborts that peers see, and
lost packets, and the progress that other contexts see.
"""

from rtl.interface.configuration import GENERATION_BITS
from sysmodel.engine.ports import J
from sysmodel.lib.compiled import inlined

from ..records import Record, Words, record

__all__ = ["EXTERNAL_STATUS", "step_external_status", "step_progress"]

EXTERNAL_STATUS = record(
    "own_generation own_aborted dispatched finished progresses loss_seen "
    "progress_valid progress_oldest progress_complete progress_changes"
)
"""Generation that the ports show, and the aborts of its launch and of those before it; workgroups
that were dispatched, and that ended; the latter has changed. A packet was lost since a launch or a
copy began. Progress for other contexts: the flag that the launch has one, its oldest slot, the
launches that completed all of their slots, and the flag that the progress has changed.
"""

_HALF = 1 << GENERATION_BITS - 1


@inlined
def _show_aborts(own: Record, generation: int, launches: int, cut_short: int) -> bool:
    """Take the generation and the abort for the peers; return whether they change."""
    shown, aborted = own.own_generation, own.own_aborted
    own.own_generation = generation
    if launches:
        # The bits are counted from the new launch on.
        own.own_aborted = aborted << (generation - shown) % _HALF & (1 << _HALF) - 1
    elif cut_short:
        own.own_aborted = aborted | 1
    return shown != generation or aborted != own.own_aborted


@inlined
def step_progress(
    own: Record,
    generation: int,
    launches: int,
    launched: int,
    aborted: int,
    oldest: int,
    done: int,
) -> bool:
    """Take the progress of the launch for other contexts, before the external status; return
    whether a register changes.

    Parameters
    ----------
    launches, launched, aborted : int
        A launch begins in this cycle; one has begun since the last abort; the context is aborted.
    oldest, done : int
        Those of the credit window in this cycle.
    """
    valid, complete = own.progress_valid, own.progress_complete
    before, changed = own.progress_oldest, own.progress_changes
    own.progress_valid = launched != 0 and launches == 0 and aborted == 0
    if own.progress_valid:
        own.progress_oldest = oldest
    ended = complete | (launched != 0 and done != 0)
    if launches:
        ended = ended << (generation - own.own_generation) % _HALF & (1 << _HALF) - 1
    own.progress_complete = 0 if aborted else ended
    own.progress_changes = (
        own.progress_valid != valid
        or own.progress_oldest != before
        or own.progress_complete != complete
        or own.own_generation != generation
    )
    return own.progress_changes != 0 or changed != 0


@inlined
def step_external_status(
    own: Record,
    generation: int,
    launches: int,
    cut_short: int,
    copies: bool,
    inputs: Words,
    at: int,
) -> bool:
    """Take the inputs of the next cycle.

    Parameters
    ----------
    generation : int
        Generation of the launch.
    launches, cut_short : int
        A launch begins in this cycle; a launch is aborted before it is done.
    copies : bool
        A copy begins in this cycle, or is dropped.
    at : int
        Distance of the context's inputs from those of the first context.

    Returns
    -------
    bool
        A register changes.
    """
    dispatched, finished, progressed = own.dispatched, own.finished, own.progresses
    changes = _show_aborts(own, generation, launches, cut_short)
    is_kernel = inputs[at + J.kernel_generation] == generation
    own.dispatched = inputs[at + J.dispatched] if is_kernel else 0
    own.finished = inputs[at + J.finished] if is_kernel else 0
    own.progresses = own.finished != finished
    seen = own.loss_seen
    own.loss_seen = launches == 0 and not copies and (seen != 0 or inputs[at + J.lost] != 0)
    changes = changes or own.dispatched != dispatched or own.loss_seen != seen
    return changes or own.finished != finished or own.progresses != progressed
