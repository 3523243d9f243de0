"""Flow control: which dispatch indices are admitted, which may be dispatched, and the timeout."""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import inlined

from .queues import natural
from .rooms import UNIT

__all__ = ["TIMEOUT", "step_credit_window"]

TIMEOUT = ErrorCode.TIMEOUT.value


@inlined
def step_credit_window(
    s, context, credit_limit_in, complete, own, issued, launch, unfinished, tick
):
    """One cycle of the credit window unit.

    Parameters
    ----------
    complete : int
        Dispatch index of a workgroup that is complete, or -1.
    own, issued, launch : bool
        Strobes.
    unfinished : bool
        Work is left, and no packet leaves.
    tick : bool
        Of the GPU's timebase.

    Returns
    -------
    bool
        Whether the timeout is reported, for the dispatch index in ``oldest``.
    """
    config, gpu = s.config, s.contexts[context]
    oldest, credit_limit = gpu.oldest, gpu.credit_limit
    dispatch_limit, done = gpu.dispatch_limit, gpu.done
    first, end = gpu.launch.tracked_first, gpu.launch.tracked_end
    launched = gpu.launched != 0

    gpu.credit_limit = 0
    if launched:
        gpu.credit_limit = min(
            oldest + gpu.launch.credit_window,
            first + gpu.issued + gpu.launch.command_window,
            config.credit_limit_mask,
        )
    admitted = max(credit_limit_in - gpu.launch.shift, 0)
    gpu.dispatch_limit = admitted if admitted < first else credit_limit
    gpu.done = launched and oldest >= end
    expired = gpu.launch.timeout != 0 and gpu.waited == gpu.launch.timeout
    slots = config.credit_window_slots - 1
    moves = s.complete[context, natural(oldest & slots)] != 0
    restarts = launch or moves or expired or not launched or (oldest >= end and not unfinished)
    given_up = gpu.aborted != 0 and (launched or done != 0)
    follows = gpu.credit_limit != credit_limit or gpu.dispatch_limit != dispatch_limit
    follows = follows or gpu.done != done or complete >= 0 or own or issued or given_up
    if tick or launch or moves or follows or (restarts and gpu.waited):
        gpu.awake |= UNIT.credit_window

    if launch:
        gpu.launched = 1
        gpu.oldest = first
        gpu.credit_limit = gpu.dispatch_limit = 0
        gpu.issued = 0
        gpu.done = 0
        gpu.waited = 0
        for slot in range(config.credit_window_slots):
            s.complete[context, slot] = 0
        return expired
    if gpu.aborted:
        gpu.launched = 0
        gpu.done = 0

    if moves:
        s.complete[context, natural(oldest & slots)] = 0
        gpu.oldest = (oldest + 1) & config.credit_limit_mask
    if complete >= 0:
        s.complete[context, natural(complete & slots)] = 1
    gpu.issued = (gpu.issued + own + issued) & config.credit_limit_mask
    if restarts:
        gpu.waited = 0
    elif tick:
        gpu.waited = (gpu.waited + 1) & 0xFFFFFFFF
    return expired
