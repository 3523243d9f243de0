"""One cycle of the whole top."""

import numpy as np

from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, G, I, O
from sysmodel.lib.compiled import compiled, inlined

from .arbitration import ANY
from .channel import is_called, step_channel
from .channel_outputs import tell, write_channel
from .congestion import follow_congestion, packet_waits
from .contexts import begin_context, end_context, has_tiles, is_calm, is_written
from .criticality import count_on
from .dma import step_engine
from .errors import note_link, place_of, report, tell_of_gpu
from .injection import arm_banks, count_corrected, follow_injection
from .outputs import write_units
from .patrol import begin_bank, end_bank, follow_patrol, is_timed
from .queues import Q, natural
from .records import clear_record
from .reduce import step_nmc
from .registers import ABORT, decode, step_bus
from .rooms import AWAKE, ROOM, UNIT, add_channel, wake
from .state import EVENTS, NMC_LATENCY, F, GoldenState
from .tables import write_register
from .tracker_bank import (
    clear_bank,
    comes_now,
    count_entries,
    drop_aborted,
    has_events,
    is_awake,
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

_MEASURE = F.CONTROL_measure[2] << F.CONTROL_measure[1]
# What waits for the tracker.
_TRACKED = sum(15 << (4 * queue) for queue in (Q.issue_acks, Q.ends, Q.candidates))


@inlined
def _step_banks(s, clear):
    """All banks; gives whether one has work left, or is awake."""
    busy = False
    for context in range(s.config.contexts):
        s.contexts[context].entries_moved = 0
    for index in range(s.config.banks):
        bank = s.banks[index]
        events, comes = has_events(s, bank), comes_now(s, bank)
        if is_awake(s, bank, comes) or clear:
            wake(s, ROOM.tracker_bank)
            busy = True
        if bank.flying:
            drop_aborted(s, bank)
            report(s, step_bank(s, index), 0, False)
        if s.gpu.has_wrong_entries:
            read_row(s, index, comes)
        if clear or is_clearing(bank):
            clear_bank(s, index, clear, events)
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
def _bus_is_busy(bus, words, g):
    waits = bus.aw_full | bus.w_full | bus.b_valid | bus.ar_full | bus.r_valid
    comes = words[g + G.bus_awvalid] | words[g + G.bus_wvalid] | words[g + G.bus_arvalid]
    return waits | comes != 0


@inlined
def _step_port(s, words, g):
    """The register port; gives whether a write acts."""
    if not _bus_is_busy(s.gpu.bus, words, g):
        return False
    wake(s, ROOM.registers)
    return step_bus(s, words, g)


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
    offered = s.gpu.offered
    for context in range(config.contexts):
        own = s.contexts[context]
        state, tiles = own.trigger.state, own.tiles
        if s.gpu.arms:
            own.awake |= UNIT.trigger
        if own.trigger.state != IDLE or own.trigger.written or s.gpu.offered >= 0:
            own.pushed, own.complete, own.own = step_trigger(s, context)
        if s.gpu.patrolling:
            patrol_rows(s, context, state, own.tiles != tiles)
        if own.aborted:
            take_completion(s, context)
    if config.banks > 1 and s.gpu.offered != offered:
        wake(s, ROOM.tracker_merge)
    if tracking or clear:
        s.gpu.tracker_busy = _step_banks(s, clear)
    if s.gpu.patrolling:
        for index in range(config.banks):
            end_bank(s, index)


@inlined
def _send(s, words, tick):
    """The contexts' engines and their queues of commands."""
    waits = tick and packet_waits(s, words)
    for context in range(s.config.contexts):
        own = s.contexts[context]
        if own.given & ABORT:
            begin_clearing(s, context)
        popped, own.issues, own.outside = step_engine(s, context, own.downstream)
        if own.pushed or own.had_ready:
            step_ready(s, context, own.pushed, popped)
        follow_congestion(s, context, waits, tick)


@inlined
def _step_channel(s, number, words, results, measure):
    """A channel that may be awake; gives whose packet the link takes."""
    channel = s.channels[number]
    levels, heads = channel.levels, channel.heads
    of_store, of_packet, _, _, sends = step_channel(s, number, words, measure)
    if of_store | of_packet | channel.corrupt:
        report(s, of_store, channel.places[0], True)
        report(s, of_packet, channel.places[1], True)
        report(s, channel.corrupt, place_of(0, 0, number, False), True)
        channel.corrupt = 0
    if s.config.with_data:
        step_nmc(s, number, words, results)
    tell(s, number, results, levels, heads)
    channel.rests = not add_channel(s, channel)
    channel.awake = channel.awake_more = 0
    return sends


@inlined
def _step_channels(s, words, results, measure, disturbed):
    """All channels, but for those that sleep, if nothing is ``disturbed``.

    Returns
    -------
    awake : bool
        One is.
    sends : int
        A bit for each context of which the link takes a packet.
    tracked : bool
        One has something for the tracker.
    """
    gpu = s.gpu
    awake, sends, levels = False, 0, 0
    busy = left = unsent = 0
    for index in range(s.config.channels):
        number = natural(index)
        channel, i = s.channels[number], natural(number * CHANNEL_INPUTS)
        note_link(s, number, words[i + I.link_down], words[i + I.link_reset])
        if disturbed or not channel.rests or is_called(s, number, words):
            sends |= _step_channel(s, number, words, results, measure)
            awake |= channel.rests == 0
        busy |= channel.busy
        left |= channel.stays
        unsent |= channel.unsent
        levels |= channel.levels
    if gpu.busy != busy or gpu.left != left or gpu.unsent != unsent:
        gpu.busy, gpu.left, gpu.unsent = busy, left, unsent
        gpu.called = 1
    return awake, sends, levels & _TRACKED != 0


@inlined
def _begin(s, words, acts, tick):
    """What comes between the register port, where a write ``acts``, and the channels.

    Returns
    -------
    takes, used, pending, aborting : int
        See :func:`~.contexts.begin_context`: a bit for each context.
    measure, disturbed : bool
        The arbiters begin to measure; what the channels know of an abort or of an injection
        changes, or may do so.
    """
    config, gpu = s.config, s.gpu
    shown = gpu.armed_shown
    if gpu.injecting:
        arm_banks(s)
    gpu.arming = gpu.armed_shown != shown
    clearing, disturbed = 0, gpu.arms != 0
    for context in range(config.contexts):
        own = s.contexts[context]
        disturbed |= own.aborting | own.aborted != 0
        if own.aborting:
            clearing = _clearing(s)
    takes, used, pending, aborting, clear, measure = 0, 0, 0, 0, 0, False
    for context in range(config.contexts):
        begins, uses, waits, aborts = begin_context(s, context, clearing, acts)
        own = s.contexts[context]
        takes |= begins << context
        used |= uses << context
        pending |= waits << context
        aborting |= aborts << context
        if own.given & ABORT:
            disturbed = True
            if has_tiles(own) and not is_being_forgotten(s, context):
                clear |= 1 << context
        measure |= own.given & _MEASURE != 0
    tracking = gpu.tracker_busy | gpu.arms | gpu.patrolling != 0
    for number in range(config.channels):
        tracking |= s.channels[natural(number)].levels & _TRACKED != 0
    _track(s, tracking, clear)
    _send(s, words, tick)
    return takes, used, pending, aborting, measure, disturbed or measure


@inlined
def _find(s):
    """What is found out from all over the hardware, and known a cycle later; wakes its register."""
    gpu, changes = s.gpu, s.gpu.arming != 0
    for context in range(s.config.contexts):
        own = s.contexts[context]
        idle = not own.works and not gpu.busy >> context & 1
        gone = not own.works and not gpu.left >> context & 1
        sent = not own.sends and not gpu.unsent >> context & 1
        changes = changes or idle != own.idle or gone != own.gone or sent != own.sent
        own.idle, own.gone, own.sent = idle, gone, sent
    if gpu.corrected_before:
        wake(s, ROOM.corrections)
    if gpu.patrolled_before:
        wake(s, ROOM.patrols)
    changes = changes or gpu.corrected != gpu.corrected_before
    if changes or gpu.patrolled != gpu.patrolled_before:
        wake(s, ROOM.findings)


@inlined
def _wake_shared(s, acts):
    """What there is once: the GPU's page, and the choice among errors."""
    gpu = s.gpu
    if is_written(s, acts, GLOBAL) or gpu.page_awake:
        wake(s, ROOM.registers_gpu)
    if gpu.errors_come | gpu.errors_came:
        wake(s, ROOM.error_choice)
    gpu.errors_came, gpu.errors_come = gpu.errors_come, 0
    gpu.page_awake = gpu.link_comes = gpu.written = 0
    if acts and gpu.bus.wstrb == 15:
        page = gpu.bus.awaddr >> PAGE_BITS
        gpu.written = 1 << page if page < CONTEXT + s.config.contexts else 0


@inlined
def _end(s, words, k, tick, sends, takes):
    """What comes behind the channels."""
    for context in range(s.config.contexts):
        end_context(s, context, words, k, sends >> context & 1, takes >> context & 1, tick)
    _find(s)
    tell_of_gpu(s)
    count_corrected(s)
    if s.gpu.patrolling:
        s.gpu.page_awake |= is_timed(s.gpu)
        follow_patrol(s)
    if s.gpu.injecting:
        follow_injection(s)
    _tell_arbiters(s)


@inlined
def _write_register(s, used, pending, aborting):
    """The write that acts; what it does is seen in the next cycle."""
    written = natural((s.gpu.bus.awaddr >> PAGE_BITS) - CONTEXT)
    copies = s.contexts[written].copies_before if written < s.config.contexts else 0
    write_register(s, copies, used, pending, aborting)


@inlined
def _waits(s):
    """Whether a context's timeout counts, which a packet that leaves begins anew."""
    for context in range(s.config.contexts):
        if s.contexts[context].waited:
            return True
    return False


@inlined
def step(state, inputs, outputs):
    """Advance by one clock cycle.

    Parameters
    ----------
    state : GoldenState
    inputs : array of uint64
        The cycle's inputs, in the columns of :mod:`sysmodel.engine.ports`.
    outputs : array of uint64
        As the last cycle, or the reset, left it; outputs of the next cycle that differ are written.
        Payloads of streams that offer nothing keep what they were.

    Returns
    -------
    bool
        Something is awake in this cycle: without, it changes nothing.
    """
    s, gpu = state, state.gpu
    words = inputs.view(np.int64)
    results = outputs.view(np.int64)
    k = natural(s.config.channels * CHANNEL_INPUTS)
    gpu.awake = gpu.called = gpu.freed = 0
    calm = gpu.rests != 0 and is_calm(s, words, k)
    acts, takes, used, pending, aborting = False, 0, 0, 0, 0
    measure = disturbed = tick = False
    if not calm:
        tick = words[k + G.tick] != 0
        acts = _step_port(s, words, k)
        takes, used, pending, aborting, measure, disturbed = _begin(s, words, acts, tick)
    awake, sends, tracked = _step_channels(s, words, results, measure, disturbed)
    if calm and not gpu.called and not (sends and _waits(s)):
        count_on(s)
        gpu.rests = not (tracked or gpu.freed)
    else:
        _end(s, words, k, tick, sends, takes)
        if acts:
            _write_register(s, used, pending, aborting)
        _wake_shared(s, acts)
        write_units(s, results)
        stirs = gpu.awake & AWAKE | gpu.called | gpu.freed | gpu.tracker_busy != 0
        gpu.rests = not (calm or stirs or tracked)
    gpu.cycle += 1
    return awake or gpu.awake != 0


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
    state.banks["wrote"] = -EVENTS
    state.channels["nmc_left"] = NMC_LATENCY - 1
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
    for context in range(s.config.contexts):
        s.contexts[context].aborting = 1
        s.contexts[context].engine.last = 1
        begin_clearing(s, context)
    write_units(s, results)
