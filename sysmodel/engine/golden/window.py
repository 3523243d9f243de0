"""Flow control: which places are admitted, which may be dispatched, and the timeout."""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import inlined

from .queues import natural
from .state import TABLE, C, U

__all__ = ["TIMEOUT", "step_window"]

TIMEOUT = ErrorCode.TIMEOUT.value


@inlined
def step_window(s, limit_in, complete, own, picked, launch, unfinished):
    """One cycle of the window unit.

    Parameters
    ----------
    complete : int
        Place of a workgroup that is complete, or -1.
    own, picked, launch : bool
        Strobes.
    unfinished : bool
        Work is left, and no packet leaves.

    Returns
    -------
    bool
        Whether the timeout is reported, for the place in ``base``.
    """
    config, gpu = s.config, s.gpu
    base, limit = gpu[U.base], gpu[U.limit]
    first, end = config[C.tracked_first], config[C.tracked_end]
    launched = gpu[U.launched] != 0

    gpu[U.limit] = 0
    if launched:
        gpu[U.limit] = min(
            base + config[C.window],
            first + gpu[U.picked] + config[C.command_window],
            config[C.limit_mask],
        )
    admitted = max(limit_in - config[C.shift], 0)
    gpu[U.dispatch_limit] = admitted if admitted < first else limit
    gpu[U.done] = launched and base >= end
    expired = config[C.timeout] != 0 and gpu[U.waited] == config[C.timeout]

    if launch:
        gpu[U.launched] = 1
        gpu[U.base] = first
        gpu[U.picked] = 0
        gpu[U.done] = 0
        gpu[U.waited] = 0
        for slot in range(config[C.window_slots]):
            s.memory[config[C.at_table] + slot * len(TABLE) + TABLE.complete] = 0
        return expired

    slots = config[C.window_slots] - 1
    oldest = natural(config[C.at_table] + (base & slots) * len(TABLE) + TABLE.complete)
    moves = s.memory[oldest] != 0
    if moves:
        s.memory[oldest] = 0
        gpu[U.base] = (base + 1) & config[C.limit_mask]
    if complete >= 0:
        s.memory[config[C.at_table] + (complete & slots) * len(TABLE) + TABLE.complete] = 1
    gpu[U.picked] = (gpu[U.picked] + own + picked) & config[C.limit_mask]
    if moves or expired or not launched or (base >= end and not unfinished):
        gpu[U.waited] = 0
    else:
        gpu[U.waited] = (gpu[U.waited] + 1) & 0xFFFFFFFF
    return expired
