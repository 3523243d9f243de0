"""One cycle of the whole top."""

import numpy as np

from rtl.interface.encodings import ErrorCode
from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_INPUTS,
    CONTEXT_OUTPUTS,
    G,
    H,
    I,
    K,
    O,
)
from sysmodel.lib.compiled import compiled, inlined

from .arbitration import ANY
from .channel import step_channel, write_channel
from .congestion import follow_congestion
from .credit_window import TIMEOUT, step_credit_window
from .criticality import step_criticality
from .dma import lane_is_idle, step_engine
from .errors import (
    error,
    interrupts,
    note_failure,
    note_link,
    place_of,
    report,
    tell_of_context,
    tell_of_gpu,
)
from .injection import arm_banks, count_corrected, follow_injection
from .patrol import begin_bank, end_bank, follow_patrol
from .protected_queue import is_empty
from .queues import Q, natural
from .records import clear_record
from .reduce import step_nmc
from .registers import ABORT, decode, follow_launch, look_outside, step_bus, take_launch
from .state import F, GoldenState
from .tables import write_register
from .tracker_bank import (
    clear_bank,
    comes_now,
    count_entries,
    drop_aborted,
    has_events,
    is_being_forgotten,
    is_clearing,
    offer_completion,
    read_row,
    step_bank,
    take_completion,
)
from .tracker_front import step_front
from .trigger import (
    CLEARING,
    IDLE,
    begin_clearing,
    patrol_rows,
    step_ready,
    step_trigger,
)

__all__ = ["reset", "step"]

_PEER_ABORTED = ErrorCode.PEER_ABORTED.value
_MEASURE = F.CONTROL_measure[2] << F.CONTROL_measure[1]
# What waits for the tracker.
_TRACKED = sum(15 << (4 * queue) for queue in (Q.issue_acks, Q.ends, Q.candidates))


@inlined
def _write_gpu(s, outputs, h):
    bus = s.gpu.bus
    outputs[h + H.bus_awready] = not bus.aw_full
    outputs[h + H.bus_wready] = not bus.w_full
    outputs[h + H.bus_bresp] = bus.b_resp
    outputs[h + H.bus_bvalid] = bus.b_valid
    outputs[h + H.bus_arready] = not bus.ar_full
    outputs[h + H.bus_rdata] = bus.r_data
    outputs[h + H.bus_rresp] = bus.r_resp
    outputs[h + H.bus_rvalid] = bus.r_valid
    outputs[h + H.irq] = interrupts(s, GLOBAL)


@inlined
def _write_context(s, context, outputs, k):
    own = s.contexts[context]
    outputs[k + K.credit_limit_out] = own.credit_limit
    outputs[k + K.generation] = own.told_generation
    outputs[k + K.aborted] = own.given_up
    outputs[k + K.dispatch_limit] = own.dispatch_limit
    outputs[k + K.tiles] = own.tiles
    outputs[k + K.done] = own.done
    outputs[k + K.idle] = own.idle
    outputs[k + K.irq] = interrupts(s, CONTEXT + context)


@inlined
def _step_banks(s, clear):
    """All banks; gives whether one has work left."""
    busy = False
    for context in range(s.config.contexts):
        s.contexts[context].entries_moved = 0
    for index in range(s.config.banks):
        bank = s.banks[index]
        comes, came = has_events(s, bank), comes_now(s, bank)
        if bank.flying:
            drop_aborted(s, bank)
            report(s, step_bank(s, index), 0, False)
        if s.gpu.has_wrong_entries:
            read_row(s, index, came)
        if clear or is_clearing(bank):
            clear_bank(s, index, clear, comes)
        busy |= bank.flying != 0 or is_clearing(bank)
    for context in range(s.config.contexts):
        busy |= s.contexts[context].entries_moved != 0
    return busy or s.gpu.completions != 0


@compiled
def _clearing(s):
    """A bit for each context whose tiles or counts are being forgotten."""
    clearing = 0
    for context in range(s.config.contexts):
        if s.contexts[context].trigger.state == CLEARING:
            clearing |= 1 << context
    for index in range(s.config.banks):
        bank = s.banks[index]
        clearing |= bank.pending | bank.forgetting
        if bank.clearing:
            clearing |= (1 << s.config.contexts) - 1
    return clearing


@inlined
def _has_sent(s, context):
    """Whether nothing of the context's DMA work is left, and nothing waits for the link."""
    own = s.contexts[context]
    if own.copies_level | own.engine.state | own.ready.checked:
        return False
    for number in range(s.config.channels):
        lane = s.channels[number].lanes[context]
        if lane.on_link or not lane_is_idle(lane):
            return False
    return True


@inlined
def _bus_is_busy(bus, words, g):
    waits = bus.aw_full | bus.w_full | bus.b_valid | bus.ar_full | bus.r_valid
    comes = words[g + G.bus_awvalid] | words[g + G.bus_wvalid] | words[g + G.bus_arvalid]
    return waits | comes != 0


@inlined
def _step_port(s, words, g):
    """The register port; gives whether a write acts."""
    return _bus_is_busy(s.gpu.bus, words, g) and step_bus(s, words, g)


@inlined
def _begin_context(s, context, clearing):
    """What a context's registers did in the last cycle.

    Returns
    -------
    work : bool
        It has something to do, but in the tracker.
    takes : bool
        A launch that waits begins in the next cycle.
    busy, pending, aborting : bool
        At the cycle's start a launch ran or waited, or what was aborted was not gone; one waited;
        it was aborted.
    """
    own = s.contexts[context]
    own.given, own.strobes = own.strobes, 0
    own.aborted = own.aborting
    own.copies_before = own.copies_level
    own.had_ready = not is_empty(own.ready)
    aborts = own.given & ABORT != 0
    pending, busy = own.pending != 0, own.running | own.pending | own.aborting | aborts != 0
    done = own.launches_done
    takes = follow_launch(s, context, aborts, clearing >> context & 1 != 0)
    own.ended = own.launches_done != done
    own.has_sent, own.sent = own.sent, 0
    if own.copying or own.copies_level:
        own.sent = _has_sent(s, context)
    own.complete, own.own, own.pushed, own.corrupt = -1, 0, 0, 0
    work = own.copies_level | own.engine.state | own.had_ready != 0 or own.trigger.state != IDLE
    return work, takes, busy, pending, own.aborted | aborts != 0


@inlined
def _has_tiles(own):
    """Whether the tracker has something of the context."""
    return own.entries | own.entries_moved | own.candidates | own.flying | own.completions != 0


@inlined
def _tell_arbiters(s):
    """What the contexts' criticality units say, together."""
    gpu = s.gpu
    active = critical = congested = 0
    relaxed = 1
    for context in range(s.config.contexts):
        own = s.contexts[context].criticality
        active |= own.active
        critical |= own.critical
        congested |= own.congested
        if own.active and not own.relaxed:
            relaxed = 0
    gpu.active, gpu.critical, gpu.congested = active, critical, congested
    gpu.relaxed = active & relaxed


@inlined
def _track(s, tracking, clear):
    """The tracker, and the contexts' trigger units behind it."""
    config = s.config
    for context in range(config.contexts):
        own = s.contexts[context]
        if clear or own.entries_change != 0:
            count_entries(s, context, clear >> context & 1)
    s.gpu.offered = -1
    if s.gpu.patrolling:
        for index in range(config.banks):
            begin_bank(s, index)
    if tracking or clear:
        # In this order each sees the completions of the cycle's start.
        step_front(s)
        offer_completion(s)
    for context in range(config.contexts):
        own = s.contexts[context]
        state, tiles = own.trigger.state, own.tiles
        if own.trigger.state != IDLE or s.gpu.offered >= 0:
            own.pushed, own.complete, own.own = step_trigger(s, context)
        if s.gpu.patrolling:
            patrol_rows(s, context, state, own.tiles != tiles)
        if own.aborted:
            take_completion(s, context)
    if tracking or clear:
        s.gpu.tracker_busy = _step_banks(s, clear)
    if s.gpu.patrolling:
        for index in range(config.banks):
            end_bank(s, index)


@inlined
def _send(s, tick):
    """The contexts' engines and their queues of commands."""
    for context in range(s.config.contexts):
        own = s.contexts[context]
        if own.given & ABORT:
            begin_clearing(s, context)
        popped, own.issues, own.outside = step_engine(s, context, own.downstream)
        if own.pushed or own.had_ready:
            step_ready(s, context, own.pushed, popped)
        follow_congestion(s, context, tick)


@inlined
def _end_context(s, context, words, k, sends, takes, tick):
    """The credit window, what guides the arbiters, and the errors."""
    own = s.contexts[context]
    at = k + natural(context * CONTEXT_INPUTS)
    log = s.logs[CONTEXT + context]
    failure, place = log.of_unit, 0
    if log.of_channel:
        failure, place = log.of_channel, log.place_of_channel
    if not failure:
        failure = own.corrupt
    base, launch = own.oldest, own.launches != 0
    issued = own.issues != 0
    step_criticality(s, context, own.dispatched, own.finished, issued, launch, tick)
    expired = step_credit_window(
        s,
        context,
        own.downstream,
        own.complete,
        own.own,
        own.issues,
        launch,
        not own.idle and not sends,
        tick,
    )
    if expired and not failure:
        failure = error(TIMEOUT, context, min(base, s.config.dispatch_index_mask), 0)
    if not failure and own.outside:
        failure, place = own.outside, place_of(own.engine.outside_atom, 0, 0, False)
    if not failure and own.peer_aborted and not own.peer_told:
        failure = error(_PEER_ABORTED, context, 0, 0)
    tell_of_context(s, context)
    note_failure(log, failure, place)
    look_outside(own, s.config.credit_limit_mask, words, at)
    own.told_generation = own.launch.generation
    own.launches = takes
    if own.given & ABORT:
        own.open = own.former_valid = 0
    if takes:
        take_launch(s, context)


@inlined
def _report_corrupt(s, number):
    """An issue acknowledgement that the channel has lost."""
    channel = s.channels[natural(number)]
    if channel.corrupt:
        report(s, channel.corrupt, place_of(0, 0, number, False), True)
        channel.corrupt = 0


@inlined
def _step_channels(s, words, results, measure):
    """All channels; gives what :func:`step_channel` gives, of all of them together."""
    busy = left = sends = 0
    for number in range(s.config.channels):
        of_store, of_packet, more, stays, sent = step_channel(s, number, words, measure)
        places = s.channels[natural(number)].places
        report(s, of_store, places[0], True)
        report(s, of_packet, places[1], True)
        _report_corrupt(s, number)
        i = natural(number * CHANNEL_INPUTS)
        note_link(s, number, words[i + I.link_down], words[i + I.link_reset])
        busy |= more
        left |= stays
        sends |= sent
        write_channel(s, number, results)
        if s.config.with_data:
            step_nmc(s, number, words, results)
    return busy, left, sends


@inlined
def step(state, inputs, outputs):
    """Advance by one clock cycle.

    Parameters
    ----------
    state : GoldenState
    inputs : array of uint64
        The cycle's inputs, in the columns of :mod:`sysmodel.engine.ports`.
    outputs : array of uint64
        Written with the outputs of the next cycle. Payloads of streams that offer nothing keep
        what they were.
    """
    s = state
    config, gpu = s.config, s.gpu
    words = inputs.view(np.int64)
    results = outputs.view(np.int64)
    channels, contexts = config.channels, config.contexts
    k = natural(channels * CHANNEL_INPUTS)
    tick = words[k + G.tick] != 0

    acts = _step_port(s, words, k)
    if gpu.injecting:
        arm_banks(s)
    clearing = 0
    for context in range(contexts):
        if s.contexts[context].aborting:
            clearing = _clearing(s)
    busy, takes, used, pending, aborting, clear, measure = clearing, 0, 0, 0, 0, 0, False
    for context in range(contexts):
        work, begins, uses, waits, aborts = _begin_context(s, context, clearing)
        own = s.contexts[context]
        busy |= (work or _has_tiles(own)) << context
        takes |= begins << context
        used |= uses << context
        pending |= waits << context
        aborting |= aborts << context
        if own.given & ABORT and _has_tiles(own) and not is_being_forgotten(s, context):
            clear |= 1 << context
        measure |= own.given & _MEASURE != 0
    tracking = gpu.tracker_busy != 0
    for number in range(channels):
        tracking |= s.channels[natural(number)].levels & _TRACKED != 0
    _track(s, tracking, clear)
    _send(s, tick)

    more, stays, sends = _step_channels(s, words, results, measure)
    busy, left = busy | more, busy | stays
    h = natural(channels * CHANNEL_OUTPUTS)
    for context in range(contexts):
        own = s.contexts[context]
        _end_context(s, context, words, k, sends >> context & 1, takes >> context & 1, tick)
        own.idle = not busy >> context & 1
        own.gone = not left >> context & 1
    tell_of_gpu(s)
    count_corrected(s)
    if gpu.patrolling:
        follow_patrol(s)
    if gpu.injecting:
        follow_injection(s)
    _tell_arbiters(s)
    if acts:
        written = natural((gpu.bus.awaddr >> PAGE_BITS) - CONTEXT)
        copies = s.contexts[written].copies_before if written < contexts else 0
        write_register(s, copies, used, pending, aborting)
    gpu.cycle += 1
    _write_gpu(s, results, h)
    for context in range(contexts):
        _write_context(s, context, results, h + natural(context * CONTEXT_OUTPUTS))


def reset(state: GoldenState, outputs: np.ndarray) -> None:
    """Put everything to what it is after reset, and write the first cycle's outputs.

    Parameters
    ----------
    state : GoldenState
    outputs : array of uint64
    """
    for name in set(state._fields) - {"config", "gpu", "turns", "registers"}:
        array = getattr(state, name)
        array[...] = np.zeros((), array.dtype)
    state.registers["value"] = state.registers["reset"]
    state.banks["clearing"] = 1
    for last in ("compute_last", "communication_last", "arbiter_last", "front_last"):
        state.channels[last] = 1
    state.channels["lanes"]["link_last"] = 1
    state.channels["measured"] = ANY
    state.channels["number"] = np.arange(len(state.channels))
    outputs[:] = 0
    _settle(state, outputs)


@compiled
def _settle(s, outputs):
    """The GPU's record, and what follows from the registers: configuration and outputs."""
    clear_record(s.gpu)
    s.gpu.tracker_busy = 1
    decode(s)
    results = outputs.view(np.int64)
    for number in range(s.config.channels):
        write_channel(s, number, results)
        if s.config.with_data:
            results[number * CHANNEL_OUTPUTS + O.nmc_in_ready] = 1
    h = s.config.channels * CHANNEL_OUTPUTS
    _write_gpu(s, results, h)
    for context in range(s.config.contexts):
        s.contexts[context].aborting = 1
        s.contexts[context].engine.last = 1
        begin_clearing(s, context)
        _write_context(s, context, results, h + context * CONTEXT_OUTPUTS)
