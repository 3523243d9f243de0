"""External status: signals of the downstream GPU and of the dispatcher, for the running launch."""

from rtl.interface.configuration import GENERATION_BITS
from sysmodel.engine.ports import J
from sysmodel.lib.compiled import inlined

from ..records import Record, Words, record

__all__ = ["EXTERNAL_STATUS", "step_external_status", "peer_aborts"]

EXTERNAL_STATUS = record(
    "own_generation downstream dispatched finished peer_aborted peer_reported "
    "seen_admits seen_generation now_admits now_generation"
)
"""Generation that the ports show; credit limit of the downstream GPU; workgroups that were
dispatched, and that ended; the downstream GPU has aborted the launch, which is reported in this
cycle; it has ever aborted the launch. The downstream GPU admits something, and its generation:
``seen`` is the register's next value, and ``now`` its value in this cycle.
"""

_GENERATIONS = 1 << GENERATION_BITS


@inlined
def peer_aborts(own: Record) -> bool:
    """Return whether an abort of the launch by the downstream GPU is reported in this cycle."""
    return own.peer_aborted != 0


@inlined
def _see_downstream(own: Record, inputs: Words, at: int) -> bool:
    """Take the state of the downstream GPU for the launch check; return whether it changes."""
    own.now_admits, own.now_generation = own.seen_admits, own.seen_generation
    own.seen_admits = inputs[at + J.credit_limit_in] != 0
    own.seen_generation = inputs[at + J.generation_in]
    return own.now_admits != own.seen_admits or own.now_generation != own.seen_generation


@inlined
def step_external_status(
    own: Record, generation: int, launches: int, is_open: int, most: int, inputs: Words, at: int
) -> bool:
    """Take the inputs of the next cycle.

    Parameters
    ----------
    generation : int
        Generation of the launch.
    launches, is_open : int
        A launch begins in this cycle; a launch has begun since the last abort.
    most : int
        Highest credit limit.
    at : int
        Index of the context's first input.

    Returns
    -------
    bool
        A register changes.
    """
    downstream, aborted = own.downstream, own.peer_aborted
    dispatched, finished = own.dispatched, own.finished
    reported = own.peer_reported
    changes = _see_downstream(own, inputs, at)
    changes = changes or own.own_generation != generation
    own.own_generation = generation
    ahead = (inputs[at + J.generation_in] - generation) & _GENERATIONS - 1
    admitted = inputs[at + J.credit_limit_in]
    if launches or ahead >= _GENERATIONS // 2 or not admitted:
        own.downstream = 0
    elif ahead:
        # The downstream GPU has begun a later launch, and waits for no tile of this launch.
        own.downstream = most
    else:
        own.downstream = admitted
    aborts = inputs[at + J.aborted_in] != 0 and ahead == 0 and is_open != 0
    before = reported != 0 and launches == 0
    own.peer_aborted, own.peer_reported = aborts and not before, aborts or before
    is_kernel = inputs[at + J.kernel_generation] == generation
    own.dispatched = inputs[at + J.dispatched] if is_kernel else 0
    own.finished = inputs[at + J.finished] if is_kernel else 0
    changes = changes or own.downstream != downstream or own.peer_aborted != aborted
    changes = changes or own.peer_reported != reported
    return changes or own.dispatched != dispatched or own.finished != finished
