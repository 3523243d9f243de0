"""Flow control: which dispatch indices are admitted, which may be dispatched, and the timeout."""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import inlined

from .queues import natural
from .state import TABLE, C, U

__all__ = ["TIMEOUT", "step_credit_window"]

TIMEOUT = ErrorCode.TIMEOUT.value


@inlined
def step_credit_window(s, credit_limit_in, complete, own, issued, launch, unfinished):
    """One cycle of the credit window unit.

    Parameters
    ----------
    complete : int
        Dispatch index of a workgroup that is complete, or -1.
    own, issued, launch : bool
        Strobes.
    unfinished : bool
        Work is left, and no packet leaves.

    Returns
    -------
    bool
        Whether the timeout is reported, for the dispatch index in ``oldest``.
    """
    config, gpu = s.config, s.gpu
    oldest, credit_limit = gpu[U.oldest], gpu[U.credit_limit]
    first, end = config[C.tracked_first], config[C.tracked_end]
    launched = gpu[U.launched] != 0

    gpu[U.credit_limit] = 0
    if launched:
        gpu[U.credit_limit] = min(
            oldest + config[C.credit_window],
            first + gpu[U.issued] + config[C.command_window],
            config[C.credit_limit_mask],
        )
    admitted = max(credit_limit_in - config[C.shift], 0)
    gpu[U.dispatch_limit] = admitted if admitted < first else credit_limit
    gpu[U.done] = launched and oldest >= end
    expired = config[C.timeout] != 0 and gpu[U.waited] == config[C.timeout]

    if launch:
        gpu[U.launched] = 1
        gpu[U.oldest] = first
        gpu[U.issued] = 0
        gpu[U.done] = 0
        gpu[U.waited] = 0
        for slot in range(config[C.credit_window_slots]):
            s.memory[config[C.at_table] + slot * len(TABLE) + TABLE.complete] = 0
        return expired

    slots = config[C.credit_window_slots] - 1
    its_bit = natural(config[C.at_table] + (oldest & slots) * len(TABLE) + TABLE.complete)
    moves = s.memory[its_bit] != 0
    if moves:
        s.memory[its_bit] = 0
        gpu[U.oldest] = (oldest + 1) & config[C.credit_limit_mask]
    if complete >= 0:
        s.memory[config[C.at_table] + (complete & slots) * len(TABLE) + TABLE.complete] = 1
    gpu[U.issued] = (gpu[U.issued] + own + issued) & config[C.credit_limit_mask]
    if moves or expired or not launched or (oldest >= end and not unfinished):
        gpu[U.waited] = 0
    else:
        gpu[U.waited] = (gpu[U.waited] + 1) & 0xFFFFFFFF
    return expired
