"""Context unit: connects the blocks of a context, except the tracker and the channels."""

import numpy as np

from rtl.interface.encodings import ErrorCode
from rtl.registers.map import CONTEXT as CONTEXT_PAGE
from sysmodel.engine.ports import CONTEXT_INPUTS, J
from sysmodel.lib.compiled import inlined

from ..channel.outstanding import has_outstanding
from ..dma.copies import COPY_QUEUE, copy_valid
from ..dma.engine import ENGINE, EngineOutputs, engine_is_idle, needs_tables, step_engine
from ..index import natural
from ..payloads.layouts import ADDRESS_SPACE, INBOUND, LAUNCH, MOST_PEERS, PEER
from ..protected_queue import PROTECTED_QUEUE, is_empty
from ..records import Record, Words, record
from ..registers.corrections import note_corrected, note_corrected_next
from ..registers.errors import RANK, error, place_of, report_error, take_errors
from ..registers.interrupts import step_context_page
from ..registers.launch import (
    ABORT,
    CONTROL,
    begin_launch,
    changes_regions,
    close_launch,
    close_regions,
    release_regions,
    step_launch,
    step_reading,
    take_launch,
)
from ..registers.words import F, get_field
from ..state import GoldenState
from ..tracker.completions import offered_completion, offers_to, take_completion
from ..tracker.counts import TRACKER_COUNTS, has_tiles
from ..trigger.credit_window import WINDOW, WindowInputs, step_credit_window
from ..trigger.criticality import (
    CRITICALITY,
    CriticalityInputs,
    CriticalityOutputs,
    only_counts,
    step_criticality,
)
from ..trigger.dispatch_gate import GATES
from ..trigger.range_limits import RANGE_LIMITS, continue_walk, step_range_limits
from ..trigger.ready import first_ready, ready_valid, step_ready
from ..trigger.trigger import (
    IDLE,
    TRIGGER,
    begin_clearing,
    scrub_rows,
    step_trigger,
    trigger_changes,
)
from .external_status import EXTERNAL_STATUS, step_external_status, step_progress
from .peer_status import PEER_STATUS, step_peer_status
from .status import STATUS

__all__ = [
    "CONTEXT",
    "begin_context",
    "begin_cycle",
    "end_context",
    "inputs_are_calm",
    "is_changing",
    "own_idle",
    "own_sent",
    "step_external",
    "step_page",
    "step_ready_queue",
    "step_sender",
    "step_trigger_block",
    "step_trigger_unit",
    "step_units",
    "tables_are_free",
]

# Signals between the blocks of a context, in one cycle.
_CYCLE = record(
    "strobes_on copies_before closes had_ready launch_ends was_sent works sends waits ready_pushed "
    "complete_index own_complete command_issued limit_changes corrupt outside_failure "
    "oldest_before done_before reports_before"
)
CONTEXT = record(
    "aborted ways rank may_await",
    [
        ("inputs_before", np.int64, (CONTEXT_INPUTS,)),
        ("control", CONTROL),
        ("launch", LAUNCH),
        ("programmed", LAUNCH),
        ("address_space", ADDRESS_SPACE),
        ("peers", PEER, (MOST_PEERS,)),
        ("inbound", INBOUND),
        ("status", STATUS),
        ("external", EXTERNAL_STATUS),
        ("peer_status", PEER_STATUS, (MOST_PEERS,)),
        ("tracker", TRACKER_COUNTS),
        ("trigger", TRIGGER),
        ("ready", PROTECTED_QUEUE),
        ("window", WINDOW),
        ("range_limits", RANGE_LIMITS),
        ("gates", GATES),
        ("criticality", CRITICALITY),
        ("engine", ENGINE),
        ("copies", COPY_QUEUE),
        ("cycle", _CYCLE),
    ],
)
"""Context: its configuration, the records of its blocks, and its inputs in the last cycle."""

_PEER_ABORTED, _TIMEOUT = ErrorCode.PEER_ABORTED.value, ErrorCode.TIMEOUT.value
_PORT_DOWN = ErrorCode.PORT_DOWN.value


@inlined
def is_changing(control: Record) -> bool:
    """Return whether this is the first cycle of an abort, of a launch, or with regions closed."""
    aborts = control.aborting != 0 and control.waited_abort == 0
    closes = control.pending != 0 and control.closed != 0 and control.closed_before == 0
    return aborts or closes or control.launches != 0


@inlined
def tables_are_free(s: GoldenState, context: int) -> bool:
    """Return whether no remaining work needs the tables of the last launch."""
    own = s.contexts[context]
    if has_tiles(own.tracker) or own.cycle.had_ready or own.trigger.state != IDLE:
        return False
    if needs_tables(own.engine) or own.external.finished < own.launch.workgroups:
        return False
    for number in range(s.config.channels):
        if has_outstanding(s.channels[natural(number)], context, s.gpu.changing):
            return False
    return True


@inlined
def begin_cycle(own: Record) -> None:
    """Note the state of a context's units at the cycle's start, and forget their last outputs."""
    cycle = own.cycle
    cycle.copies_before = own.copies.copies_level
    cycle.had_ready = not is_empty(own.ready)
    cycle.was_sent = own.status.dma_done
    cycle.reports_before = own.window.report_due
    cycle.complete_index = -1
    cycle.own_complete = cycle.ready_pushed = cycle.corrupt = 0


@inlined
def begin_context(
    s: GoldenState, context: int, strobes: int, clearing: int
) -> tuple[bool, bool, bool, bool]:
    """Advance the launch control by one cycle, and record the context's state at the start of the
    cycle.

    Parameters
    ----------
    strobes : int
        Strobes of CONTROL in this cycle.
    clearing : int
        A bit for each context whose tiles or counts are being cleared.

    Returns
    -------
    takes : bool
        A launch that waits begins in the next cycle.
    busy, pending, aborted : bool
        State at the start of the cycle: a launch runs or waits, or an abort is in progress; a
        launch waits; the context is aborted.
    """
    own = s.contexts[context]
    cycle, control, is_clearing = own.cycle, own.control, clearing >> context & 1 != 0
    cycle.strobes_on = strobes
    own.aborted = control.aborting
    begin_cycle(own)
    aborts = strobes & ABORT != 0
    pending = control.pending != 0
    cycle.waits = pending
    busy = control.running | control.pending | control.aborting | aborts != 0
    done = control.launches_done
    waits, drained = pending and not control.running, own.status.drained != 0
    tables_free = waits and tables_are_free(s, context)
    held = pending and get_field(s.registers[CONTEXT_PAGE + context], F.LOCK_hold) != 0
    changes = waits and changes_regions(s, context)
    step_reading(control, cycle.copies_before, own.status.dma_done != 0, drained)
    takes, cycle.closes = step_launch(
        control, aborts, held, own.window.done != 0, tables_free, drained, is_clearing, changes
    )
    cycle.launch_ends = control.launches_done != done
    has_command = ready_valid(own.ready) or copy_valid(own.copies)
    cycle.sends = has_command or not engine_is_idle(own.engine)
    works = cycle.sends | cycle.had_ready | is_clearing
    cycle.works = works or own.trigger.state != IDLE or has_tiles(own.tracker)
    return takes, busy, pending, own.aborted | aborts != 0


@inlined
def step_trigger_block(
    s: GoldenState, context: int, offered: bool, completion: Record
) -> tuple[bool, bool]:
    """Advance the trigger unit, and the scrub walks over its memories, by one cycle.

    Parameters
    ----------
    offered : bool
        The tracker offers ``completion``, which an aborted context does not take.

    Returns
    -------
    active : bool
        A register of the unit may change.
    takes : bool
        The unit takes the completion.
    """
    own = s.contexts[context]
    cycle, state = own.cycle, own.trigger.state
    takes, active = False, trigger_changes(own.trigger)
    if active or offered:
        out = step_trigger(s, context, offered and not own.aborted, completion)
        cycle.ready_pushed, cycle.complete_index = out.pushed, out.complete
        cycle.own_complete, cycle.corrupt = out.own, out.failure
        if out.corrected:
            note_corrected(s.gpu.corrections, True)
        if out.corrected_next:
            note_corrected_next(s.gpu.corrections, True)
        takes = out.taken
    if s.gpu.scrubber.scrubbing:
        scrub_rows(s, context, state, takes)
    return active or takes, takes


@inlined
def step_trigger_unit(s: GoldenState, context: int) -> tuple[bool, bool]:
    """Advance the trigger unit by one cycle, with the completion that the tracker offers.

    Returns
    -------
    active : bool
        A register of the unit may change.
    taken : bool
        The completion leaves the tracker.
    """
    offered = offers_to(s, context)
    active, takes = step_trigger_block(s, context, offered, offered_completion(s))
    taken = takes or (offered and s.contexts[context].aborted != 0)
    if taken:
        take_completion(s)
    return active, taken


@inlined
def step_ready_queue(s: GoldenState, context: int, popped: bool) -> bool:
    """Advance the queue of ready commands by one cycle, after the trigger unit; return whether a
    register of the queue may change.

    Parameters
    ----------
    popped : bool
        The DMA engine takes the command that the queue offers.
    """
    cycle, active = s.contexts[context].cycle, False
    if cycle.ready_pushed or cycle.had_ready:
        out = step_ready(s, context, cycle.ready_pushed != 0, popped)
        active = out.active
        if out.corrected:
            note_corrected(s.gpu.corrections, True)
        if cycle.corrupt == 0:
            cycle.corrupt = out.failure
    return active


@inlined
def step_sender(s: GoldenState, context: int) -> tuple[bool, EngineOutputs]:
    """Advance the DMA engine and the queue of ready commands by one cycle.

    Returns
    -------
    active : bool
        A register of the queue, or of the trigger unit, which clears its memories, may change.
    engine : EngineOutputs
    """
    own = s.contexts[context]
    cycle = own.cycle
    active = cycle.strobes_on & ABORT != 0
    if active:
        begin_clearing(own.trigger)
    valid, ready = ready_valid(own.ready), first_ready(s, context)
    engine = step_engine(s, context, valid, ready)
    cycle.command_issued, cycle.outside_failure = engine.issued, engine.failure
    active |= step_ready_queue(s, context, engine.popped)
    return active, engine


@inlined
def step_page(s: GoldenState, context: int) -> None:
    """Advance the interrupts and the error log of the context's page by one cycle."""
    own = s.contexts[context]
    cycle, idle = own.cycle, own.status.idle != 0
    sent, ends, copies = cycle.was_sent != 0, cycle.launch_ends != 0, cycle.copies_before
    reports = cycle.reports_before != 0
    step_context_page(s, context, cycle.strobes_on, idle, sent, ends, reports, copies)


@inlined
def _report_loss(own: Record, context: int, log: Record, inputs: Words, at: int) -> bool:
    """Report the first loss of a packet; return whether there is one."""
    loses = inputs[at + J.lost] != 0 and own.external.loss_seen == 0
    if loses:
        place = place_of(0, inputs[at + J.lost_gpu], inputs[at + J.lost_port], False)
        report_error(log, RANK.port, error(_PORT_DOWN, context, 0, 0), place)
    return loses


@inlined
def _report_unit(s: GoldenState, context: int, log: Record, expired: bool, oldest: int) -> bool:
    """Report the errors of the context's units; return whether there are any."""
    own = s.contexts[context]
    cycle, aborted = own.cycle, False
    if expired:
        failure = error(_TIMEOUT, context, min(oldest, s.config.dispatch_index_mask), 0)
        report_error(log, RANK.timeout, failure, 0)
    for index in range(s.config.peers):
        if not aborted and own.peer_status[natural(index)].aborts:
            aborted = True
            place = place_of(0, own.peers[natural(index)].rank, 0, False)
            report_error(log, RANK.peer, error(_PEER_ABORTED, context, 0, 0), place)
    if own.gates.fails and not aborted:
        aborted = True
        place = place_of(0, own.rank, 0, False)
        report_error(log, RANK.peer, error(_PEER_ABORTED, context, 0, 0), place)
    report_error(log, RANK.trigger, cycle.corrupt, 0)
    place = place_of(own.engine.walk.outside_atom, 0, 0, False)
    report_error(log, RANK.dma, cycle.outside_failure, place)
    return cycle.corrupt != 0 or expired or cycle.outside_failure != 0 or aborted


@inlined
def step_units(
    s: GoldenState, context: int, sends: bool, tick: bool, inputs: Words, k: int
) -> tuple[CriticalityOutputs, bool, bool]:
    """Advance the criticality unit, the limits of the ranges, the credit window and the error log
    by one cycle.

    Parameters
    ----------
    sends : bool
        The link accepts a packet of the context.
    tick : bool
        Pulse of the timebase.
    k : int
        Index of the GPU's first input.

    Returns
    -------
    criticality : CriticalityOutputs
    active : bool
        A register of the credit window may change.
    any_failure : bool
        A unit reports an error.
    """
    own = s.contexts[context]
    cycle, external = own.cycle, own.external
    launch, issued, aborted = own.control.launches != 0, cycle.command_issued != 0, own.aborted != 0
    cycle.oldest_before, cycle.done_before = own.window.oldest, own.window.done
    # A launch that waits counts as work, whose progress is the end of workgroups.
    works = own.status.idle == 0 or (cycle.waits != 0 and external.progresses == 0)
    works = works or own.gates.gate_waits != 0
    criticality = step_criticality(
        s.config,
        own.criticality,
        own.launch,
        own.window,
        CriticalityInputs(
            external.dispatched,
            external.finished,
            own.range_limits.dispatch_limit,
            issued,
            cycle.sends != 0,
            launch,
            tick,
            aborted,
        ),
    )
    step_range_limits(
        s.config,
        own.range_limits,
        s.limits[context],
        s.ranges[context],
        own.peer_status,
        own.window.credit_limit,
        own.gates.gate_merged,
        launch or aborted,
    )
    window = step_credit_window(
        s.config,
        own.window,
        s.complete[context],
        own.launch,
        WindowInputs(
            cycle.complete_index,
            cycle.own_complete != 0,
            issued,
            launch,
            works and not sends,
            own.gates.releases != 0,
            tick,
            aborted,
        ),
    )
    cycle.limit_changes = window.changes
    log = s.logs[CONTEXT_PAGE + context]
    any_failure = _report_unit(s, context, log, window.expired, cycle.oldest_before)
    at = k + natural(context * CONTEXT_INPUTS)
    any_failure = _report_loss(own, context, log, inputs, at) or any_failure
    step_page(s, context)
    take_errors(log)
    return criticality, window.active, any_failure


@inlined
def _step_peers(s: GoldenState, context: int, inputs: Words, at: int) -> int:
    """Take the inputs from the peers; return how many peers' registers change."""
    own, moving = s.contexts[context], 0
    control = own.control
    for number in range(s.config.peers):
        index = natural(number)
        moving += step_peer_status(
            own.peer_status[index],
            own.peers[index].enable,
            own.launch.generation,
            own.external.own_generation,
            control.launches,
            control.open,
            s.config.credit_limit_mask,
            inputs,
            at + index,
        )
    return moving


@inlined
def step_external(s: GoldenState, context: int, inputs: Words, k: int) -> tuple[bool, int, bool]:
    """Take the context's inputs, after the context's units.

    Parameters
    ----------
    k : int
        Index of the GPU's first input.

    Returns
    -------
    external : bool
        A register of the external status changes.
    moving : int
        Number of peers whose status changes.
    walks : bool
        A register of the range limits may change.
    """
    own, at = s.contexts[context], k + natural(context * CONTEXT_INPUTS)
    control = own.control
    moving = _step_peers(s, context, inputs, at)
    copies = own.copies.copies_level != own.cycle.copies_before  # a push comes later in the cycle
    generation, progress = own.launch.generation, False
    if s.config.contexts > 1:
        progress = step_progress(
            own.external,
            generation,
            control.launches,
            control.open,
            own.aborted,
            own.cycle.oldest_before,
            own.cycle.done_before,
        )
    external = step_external_status(
        own.external, generation, control.launches, control.cut_short, copies, inputs, at
    )
    changes = moving != 0 or own.cycle.limit_changes != 0 or own.gates.gate_changes != 0
    launch, aborted = control.launches != 0, own.aborted != 0
    walks = continue_walk(s.config, own.range_limits, changes, launch, aborted)
    for word in range(CONTEXT_INPUTS):
        own.inputs_before[word] = inputs[at + J[0] + word]
    return external or progress, moving, walks or own.gates.gate_works != 0


@inlined
def end_context(s: GoldenState, context: int, takes: bool) -> None:
    """Begin a launch, or close regions that it changes; or discard the state of the launches before
    an abort; at the end of a cycle.

    Parameters
    ----------
    takes : bool
        A launch that waits begins in the next cycle.
    """
    own = s.contexts[context]
    begin_launch(own.control, takes)
    release_regions(own.control)
    if own.cycle.closes:
        close_regions(s, context)
    if own.cycle.strobes_on & ABORT:
        close_launch(own.control)
    if takes:
        take_launch(s, context)


@inlined
def own_idle(own: Record) -> bool:
    """Return whether neither the context's blocks nor the tracker hold any work of the context."""
    return not own.cycle.works


@inlined
def own_sent(own: Record) -> bool:
    """Return whether the context's DMA engine has no work."""
    return not own.cycle.sends


@inlined
def inputs_are_calm(s: GoldenState, inputs: Words, k: int) -> bool:
    """Return whether the contexts' inputs did not change, and outstanding comparisons only count.

    Parameters
    ----------
    k : int
        Index of the GPU's first input.
    """
    changes = 0
    for context in range(s.config.contexts):
        own, at = s.contexts[context], k + natural(context * CONTEXT_INPUTS) + J[0]
        for word in range(CONTEXT_INPUTS):
            changes |= inputs[at + word] ^ own.inputs_before[word]
        if not only_counts(own.criticality):
            return False
    return changes == 0
