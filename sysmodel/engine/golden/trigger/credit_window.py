"""Credit window: the dispatch indices that are admitted, and the timeout."""

from typing import NamedTuple

from sysmodel.lib.compiled import inlined

from ..index import natural
from ..records import Record, Words, record

__all__ = ["WINDOW", "WindowInputs", "WindowOutputs", "step_credit_window"]

WINDOW = record("window_open oldest issued credit_limit done waited report_due")
"""Credit window: the flag that a launch is open; its oldest incomplete dispatch index; commands and
own workgroups that were issued; the credit limit; all workgroups are complete; ticks without
progress; the oldest one has come to a step of the launch.
"""


class WindowInputs(NamedTuple):
    """Inputs of the credit window in a cycle.

    Attributes
    ----------
    complete : int
        Dispatch index of a workgroup that is complete, or -1.
    own, issued, launch : bool
        Strobes: the complete workgroup needs no DMA command; the DMA engine has taken a workgroup's
        last command; a launch begins.
    unfinished : bool
        Work is left, a launch waits, or a gate is closed; and there is no progress.
    released : bool
        A gate releases workgroups.
    tick : bool
        Pulse of the GPU's timebase.
    aborted : bool
        The context is aborted.
    """

    complete: int
    own: bool
    issued: bool
    launch: bool
    unfinished: bool
    released: bool
    tick: bool
    aborted: bool


class WindowOutputs(NamedTuple):
    """Result of the credit window's cycle.

    Attributes
    ----------
    active : bool
        A register of the unit may change.
    changes : bool
        The credit limit changes, unless a launch begins.
    expired : bool
        The timeout is reported for the oldest dispatch index at the start of the cycle.
    """

    active: bool
    changes: bool
    expired: bool


@inlined
def _follow(config: Record, window: Record, launch: Record, aborted: bool) -> tuple[bool, bool]:
    """Update the output registers; return whether the credit limit changes, and whether a register
    changes, by its input or by an abort.
    """
    credit_limit, done = window.credit_limit, window.done
    first, is_open = launch.tracked_first, window.window_open != 0
    window.credit_limit = 0
    if is_open:
        window.credit_limit = min(
            window.oldest + launch.credit_window,
            first + window.issued + launch.command_window,
            config.credit_limit_mask,
        )
    window.done = is_open and window.oldest >= launch.tracked_end
    changes = window.credit_limit != credit_limit
    return changes, changes or window.done != done or (aborted and (is_open or done != 0))


@inlined
def _open(config: Record, window: Record, complete: Words, first: int) -> None:
    """Begin a launch: no workgroup is complete."""
    window.window_open = 1
    window.oldest = first
    window.credit_limit = 0
    window.issued = 0
    window.done = 0
    window.waited = 0
    for slot in range(config.credit_window_slots):
        complete[slot] = 0


@inlined
def _advance(config: Record, window: Record, complete: Words, inputs: WindowInputs) -> None:
    """Record a complete workgroup, and advance over the oldest workgroup if it is complete."""
    slots = config.credit_window_slots - 1
    oldest = window.oldest
    if complete[natural(oldest & slots)]:
        complete[natural(oldest & slots)] = 0
        window.oldest = (oldest + 1) & config.credit_limit_mask
    if inputs.complete >= 0:
        complete[natural(inputs.complete & slots)] = 1
    window.issued = (window.issued + inputs.own + inputs.issued) & config.credit_limit_mask


@inlined
def _is_step(launch: Record, oldest: int) -> bool:
    """Return whether software wants to hear that a launch has come to this slot."""
    if launch.reports_steps == 0:
        return False
    return oldest % (1 << launch.report_log2) == 0 or oldest == launch.tracked_end


@inlined
def step_credit_window(
    config: Record, window: Record, complete: Words, launch: Record, inputs: WindowInputs
) -> WindowOutputs:
    """Advance the credit window by one cycle.

    Parameters
    ----------
    window : record
        Record :data:`WINDOW`.
    complete : array of int64
        For each workgroup of the window, 1 if it is complete.
    launch : record
        Configuration of the launch.
    """
    oldest, is_open = window.oldest, window.window_open != 0
    limit_changes, changes = _follow(config, window, launch, inputs.aborted)
    expired = launch.timeout != 0 and window.waited == launch.timeout
    moves = complete[natural(oldest & (config.credit_window_slots - 1))] != 0
    ended = oldest >= launch.tracked_end and not inputs.unfinished
    restarts = inputs.launch or moves or inputs.released or expired or not is_open or ended
    active = inputs.tick or inputs.launch or moves or changes or inputs.complete >= 0
    active = active or inputs.own or inputs.issued or (restarts and window.waited != 0)
    active = active or window.report_due != 0
    window.report_due = moves and is_open and not inputs.launch
    if window.report_due:
        window.report_due = _is_step(launch, (oldest + 1) & config.credit_limit_mask)
    if inputs.launch:
        _open(config, window, complete, launch.tracked_first)
    else:
        if inputs.aborted:
            window.window_open = 0
            window.done = 0
        _advance(config, window, complete, inputs)
        if restarts:
            window.waited = 0
        elif inputs.tick:
            window.waited = (window.waited + 1) & 0xFFFFFFFF
    return WindowOutputs(active, limit_changes, expired)
