"""Criticality unit: detects that all other work waits for communication. The unit compares the time
that the DMA engine still needs at its last rate with three quarters of the time that the kernel
still needs.
"""

from typing import NamedTuple

from sysmodel.lib.compiled import compiled, inlined

from ..records import Record, record
from .congestion import CONGESTION_WORDS, fade

__all__ = [
    "CRITICALITY",
    "CriticalityInputs",
    "CriticalityOutputs",
    "continue_comparison",
    "is_comparing",
    "only_counts",
    "step_criticality",
]

CRITICALITY = record(
    "launched changed phase fraction elapsed finished_seen finish_time sent timed_log2 "
    "measuring group group_time link_time settled remaining verdict late active relaxed critical "
    f"{CONGESTION_WORDS}"
)
"""Criticality unit: the flag that a launch has begun; the flag that an operand changed since the
last comparison, and the phase of the comparison; the kernel's time in units and ticks, the finished
workgroups and their time; the sent workgroups, the log2 of the size of a group, the time of the
current group, and the time of the last group; the comparison; and the outputs.
"""

# Phases of a comparison.
_JUDGED, _LAST_PHASE = 3, 63
_FRACTIONS = 16  # ticks in a unit of elapsed time
_MOST_GROUPS = 64  # groups in which the workgroups of a kernel are timed
_MOST_ELAPSED, _MOST_TICKS = (1 << 20) - 1, (1 << 14) - 1


class CriticalityInputs(NamedTuple):
    """Inputs of the unit in a cycle.

    Attributes
    ----------
    dispatched, finished : int
        Workgroups that were dispatched, and that ended.
    dispatch_limit : int
        Workgroups of smaller dispatch indices may be dispatched.
    issued : bool
        The DMA engine has taken a workgroup's last command.
    busy : bool
        The DMA engine has a command, or takes one.
    launch : bool
        Strobe: a launch begins.
    tick : bool
        Pulse of the GPU's timebase.
    aborted : bool
        The context is aborted.
    """

    dispatched: int
    finished: int
    dispatch_limit: int
    issued: bool
    busy: bool
    launch: bool
    tick: bool
    aborted: bool


class CriticalityOutputs(NamedTuple):
    """Result of the unit's cycle.

    Attributes
    ----------
    active : bool
        A register of the unit may change, except for the phase of a comparison.
    counts : bool
        A comparison counts its phase.
    """

    active: bool
    counts: bool


@compiled
def _judge(launch: Record, own: Record, finished: int) -> None:
    """Step of the comparison in its phase."""
    if own.phase == 0:
        sent = launch.tracked_first + own.sent
        own.settled = finished if finished < launch.tracked_first else sent
    elif own.phase == 1:
        own.remaining = launch.to_send
    elif own.phase == 2:
        own.remaining = max(own.remaining - own.settled, 0)
    elif own.phase == _JUDGED:
        # Both sides are in ticks per group of workgroups, multiplied by `finished`.
        link = own.remaining * max(own.link_time, own.group_time) * finished
        kernel = launch.workgroups * own.finish_time - finished * own.elapsed
        own.verdict = kernel < 0 or 3 * kernel * (_FRACTIONS << own.timed_log2) < 4 * link
    elif own.phase == _LAST_PHASE:
        own.late = own.verdict


@inlined
def only_counts(own: Record) -> bool:
    """Return whether no comparison runs, or a comparison only counts its phase in the next
    cycle.
    """
    return own.phase == 0 or _JUDGED < own.phase < _LAST_PHASE


@inlined
def is_comparing(own: Record) -> bool:
    """Return whether a comparison runs."""
    return own.phase != 0


@inlined
def continue_comparison(own: Record) -> None:
    """Count the phase of a comparison in a cycle without any other change."""
    own.phase += 1


@inlined
def _timed_log2(workgroups: int) -> int:
    """Return the log2 of the number of workgroups that are timed together."""
    log2 = 0
    while workgroups > _MOST_GROUPS << log2:
        log2 += 1
    return log2


@inlined
def _time_link(own: Record, issued: bool, critical: bool, counts: bool, mask: int) -> None:
    """Measure the time in which a group of workgroups is sent; ``counts`` means that a tick
    counts. ``critical`` is the output at the start of the cycle.
    """
    if issued:
        own.sent = (own.sent + 1) & mask
        own.changed = 1
        if own.measuring:
            own.group += 1
        if not own.measuring or own.group == 1 << own.timed_log2:
            if own.measuring:
                own.link_time = max(own.group_time, 1)
                if not critical:
                    fade(own)
            own.measuring = 1
            own.group = 0
            own.group_time = counts
            return
    if counts and own.measuring and own.group_time < _MOST_TICKS:
        own.group_time += 1


@inlined
def _time_kernel(own: Record, finished: int, counts: bool) -> None:
    """Measure the time of the kernel, and of its last workgroup; ``counts`` means that a tick
    counts.
    """
    if finished != own.finished_seen:
        own.finished_seen = finished
        own.finish_time = own.elapsed
        own.changed = 1
    if counts:
        own.fraction += 1
        if own.fraction == _FRACTIONS:
            own.fraction = 0
            if own.elapsed < _MOST_ELAPSED:
                own.elapsed += 1
                own.changed = 1


@inlined
def _set_outputs(own: Record, launch: Record, window: Record, inputs: CriticalityInputs) -> bool:
    """Update the output registers; return whether one of them changes."""
    dispatched, finished = inputs.dispatched, inputs.finished
    runs = own.launched != 0 and dispatched != 0 and finished < launch.workgroups
    waits = inputs.dispatch_limit <= dispatched < launch.workgroups
    size = launch.credit_window
    leads = dispatched > window.oldest + ((size >> 1) | (size >> 2))
    lags = finished > window.oldest + (size >> 3)
    late = own.late != 0
    known = own.link_time != 0
    active = runs and not waits
    relaxed = active and known and not late and not lags
    critical = runs and (waits or leads or late)
    changes = active != own.active or relaxed != own.relaxed or critical != own.critical
    own.active, own.relaxed, own.critical = active, relaxed, critical
    return changes


@inlined
def step_criticality(
    config: Record, own: Record, launch: Record, window: Record, inputs: CriticalityInputs
) -> CriticalityOutputs:
    """Advance the unit by one cycle.

    Parameters
    ----------
    own : record
        Record :data:`CRITICALITY`.
    launch : record
        Configuration of the launch.
    window : record
        Record :data:`~.credit_window.WINDOW`.
    """
    finished, tick, critical = inputs.finished, inputs.tick, own.critical != 0
    changes = _set_outputs(own, launch, window, inputs)
    # After the last phase the outputs may change, so that the next cycle is not quiescent.
    ended = own.phase == _LAST_PHASE
    changes = changes or tick or inputs.launch or inputs.issued or finished != own.finished_seen
    changes = changes or ended or (inputs.aborted and own.launched != 0)
    counts = own.phase != 0
    if own.phase or (tick and own.changed):
        if own.phase == 0:
            own.changed = 0
        if own.phase <= _JUDGED or ended:
            _judge(launch, own, finished)
        own.phase = (own.phase + 1) & _LAST_PHASE
    _time_kernel(own, finished, tick and own.active != 0)
    _time_link(own, inputs.issued, critical, tick and inputs.busy, config.credit_limit_mask)
    if inputs.launch:
        own.launched = own.changed = 1
        own.fraction = own.elapsed = own.finished_seen = own.finish_time = own.sent = 0
        own.measuring = own.group = own.group_time = own.link_time = 0
        own.phase = own.late = 0
        own.timed_log2 = _timed_log2(launch.workgroups)
    elif inputs.aborted:
        own.launched = 0
    return CriticalityOutputs(changes, counts)
