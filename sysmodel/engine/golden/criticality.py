"""Whether communication is what everything waits for: the time that the link still needs against
three quarters of what the kernel still needs."""

from sysmodel.lib.compiled import compiled, inlined

from .rooms import COUNTING, COUNTS, ROOM, UNIT

__all__ = ["count_on", "is_counting", "step_criticality"]

# Of a comparison.
_JUDGED, _LAST_PHASE = 3, 63
_FRACTIONS = 16  # ticks in a unit of elapsed time
_GROUP = 32  # workgroups whose sending is timed at once
_MOST_ELAPSED, _MOST_TICKS = (1 << 20) - 1, (1 << 14) - 1


@compiled
def _judge(s, context, finished):
    """The comparison's steps, each in its phase."""
    launch, own = s.contexts[context].launch, s.contexts[context].criticality
    if own.phase == 0:
        sent = launch.tracked_first + own.sent
        own.gone = finished if finished < launch.tracked_first else sent
    elif own.phase == 1:
        own.remaining = launch.tracked_end - launch.shift
    elif own.phase == 2:
        own.remaining = max(own.remaining - own.gone, 0)
    elif own.phase == _JUDGED:
        # Ticks of a group of workgroups, on both sides times `finished`.
        link = own.remaining * own.link_time * finished
        kernel = launch.workgroups * own.finish_time - finished * own.elapsed
        own.verdict = kernel < 0 or 3 * kernel * (_GROUP * _FRACTIONS) < 4 * link
    elif own.phase == _LAST_PHASE:
        own.late = own.verdict


@inlined
def is_counting(own):
    """Whether a comparison's next cycle only counts, or there is none."""
    return own.phase == 0 or _JUDGED < own.phase < _LAST_PHASE


@inlined
def count_on(s):
    """A cycle of the comparisons that only count."""
    for context in range(s.config.contexts):
        own = s.contexts[context].criticality
        if own.phase:
            own.phase += 1
            s.clocked[ROOM.context_criticality] += 1
            s.gpu.awake |= COUNTING


@inlined
def _time_link(own, issued, tick, mask):
    """The shortest time in which a group of workgroups was sent."""
    if issued:
        own.sent = (own.sent + 1) & mask
        own.changed = 1
        if own.measuring:
            own.group += 1
        if not own.measuring or own.group == _GROUP:
            took = max(own.group_time, 1)
            if own.measuring and (own.link_time == 0 or took < own.link_time):
                own.link_time = took
            own.measuring = 1
            own.group = 0
            own.group_time = tick
            return
    if tick and own.measuring and own.group_time < _MOST_TICKS:
        own.group_time += 1


@inlined
def step_criticality(s, context, dispatched, finished, issued, launch, tick):
    """One cycle.

    Parameters
    ----------
    dispatched, finished : int
        Workgroups given out, and ended.
    issued : bool
        The DMA engine has taken a workgroup's last command.
    launch : bool
        Strobe.
    tick : bool
        Of the GPU's timebase.
    """
    gpu = s.contexts[context]
    own, limits = gpu.criticality, gpu.launch
    runs = own.launched != 0 and dispatched != 0 and finished < limits.workgroups
    waits = gpu.dispatch_limit <= dispatched < limits.workgroups
    window = limits.credit_window
    leads = dispatched > gpu.oldest + ((window >> 1) | (window >> 2))
    lags = finished > gpu.oldest + (window >> 3)
    late = own.late != 0
    unknown = own.measuring != 0 and own.link_time == 0
    active = runs and not waits
    relaxed = active and not late and not lags
    critical = runs and (waits or leads or late or unknown)
    tells = active != own.active or relaxed != own.relaxed or critical != own.critical
    own.active, own.relaxed, own.critical = active, relaxed, critical
    ends = finished != own.finished_seen
    given_up = gpu.aborted != 0 and own.launched != 0
    # After the last phase what is told may change, so that the next cycle is no rest.
    ended = own.phase == _LAST_PHASE
    if tick or launch or issued or ends or tells or given_up or ended:
        gpu.awake |= UNIT.criticality
    elif own.phase != 0:
        gpu.awake |= COUNTS
    if own.phase or (tick and own.changed):
        if own.phase == 0:
            own.changed = 0
        if own.phase <= _JUDGED or ended:
            _judge(s, context, finished)
        own.phase = (own.phase + 1) & _LAST_PHASE
    if finished != own.finished_seen:
        own.finished_seen = finished
        own.finish_time = own.elapsed
        own.changed = 1
    if tick and runs and not waits:
        own.fraction += 1
        if own.fraction == _FRACTIONS:
            own.fraction = 0
            if own.elapsed < _MOST_ELAPSED:
                own.elapsed += 1
                own.changed = 1
    _time_link(own, issued, tick, s.config.credit_limit_mask)
    if launch:
        own.launched = own.changed = 1
        own.fraction = own.elapsed = own.finished_seen = own.finish_time = own.sent = 0
        own.measuring = own.group = own.group_time = own.link_time = 0
        own.phase = own.late = 0
    elif gpu.aborted:
        own.launched = 0
