"""Top of the golden model: connects all blocks, and advances them by one cycle."""

import numpy as np

from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, G, I, O
from sysmodel.lib.compiled import compiled, inlined

from .activity.channels import count_channel
from .activity.contexts import count_units, enable_unit, look_at_page
from .activity.counters import any_changes, any_enabled, begin_cycle, count_comparison
from .activity.kinds import UNIT
from .activity.shared import (
    count_link_errors,
    count_registers,
    count_shared,
    count_status,
    look_at_global_page,
    note_unit_error,
)
from .activity.tracker import count_bank, count_front, count_merge, look_at_scrub
from .channel.arbitration import ARBITER_INPUTS, NO_LIMIT, combine_contexts
from .channel.channel import changes_channel, step_channel
from .channel.outputs import update_channel, write_channel
from .channel.queues import Q, mark
from .context.status import step_status
from .context.unit import (
    begin_context,
    end_context,
    inputs_are_calm,
    is_changing,
    own_idle,
    own_sent,
    step_external,
    step_sender,
    step_trigger_unit,
    step_units,
)
from .dma.engine import reset_engine
from .index import natural
from .nmc.unit import NMC_LATENCY, step_nmc
from .outputs import write_units
from .records import Words, clear_record, record
from .registers.bus import BUS, bus_changes, respond, step_bus
from .registers.configuration import decode
from .registers.corrections import CORRECTIONS, note_corrected, step_corrections
from .registers.errors import RANK, owner_of, place_of, report_error, report_packet_error
from .registers.injection import INJECTION, arm_banks, step_injection
from .registers.interrupts import step_global_page
from .registers.launch import ABORT, MEASURE, reset_control, take_strobes
from .registers.link_errors import LINKS, note_link, report_global_errors
from .registers.write import is_foreign, moves_fixed, write_register
from .scrub import SCRUBBER, step_scrubber
from .state import GoldenState
from .tracker.bank import EVENTS, step_bank
from .tracker.clearing import clearing_contexts
from .tracker.completions import MERGE, offer_completion
from .tracker.counts import has_tiles
from .tracker.front import step_front
from .tracker.tracker import begin_entries, begin_tracker, clears_context, end_tracker
from .trigger.congestion import packet_waits, step_congestion
from .trigger.criticality import continue_comparison, is_comparing
from .trigger.dispatch_gate import step_gates
from .trigger.trigger import CLEARING, begin_clearing, scrubs_rows

__all__ = [
    "GPU",
    "begin_contexts",
    "end_shared",
    "look_at_write",
    "reset",
    "step",
    "step_port",
    "step_write",
]

GPU = record(
    "privileged_refusal cycle quiescent tracker_busy channels_busy channels_undrained "
    "channels_unsent changing",
    [
        ("bus", BUS),
        ("links", LINKS),
        ("injection", INJECTION),
        ("corrections", CORRECTIONS),
        ("scrubber", SCRUBBER),
        ("merge", MERGE),
        ("arbiter_inputs", ARBITER_INPUTS),
    ],
)
"""Blocks that exist once. ``privileged_refusal``: reason for which the GPU's page refused the last
privileged write. ``quiescent``: no block outside the channels changes in the next cycle
unless an input changes. ``tracker_busy``: the tracker's blocks may change in the next cycle. The
last ones have a bit for each context that has anything left in the channels, anything but packets
before the link, or DMA work, and that changes in this cycle:
:func:`~.context.unit.is_changing`.
"""

# Queues whose records wait for the tracker.
_TRACKED = sum(15 * mark(queue) for queue in (Q.issue_acks, Q.ends, Q.candidates))


@compiled
def _clearing(s: GoldenState) -> int:
    """Return a bit for each context whose tiles or counts are being cleared."""
    clearing = clearing_contexts(s)
    for context in range(s.config.contexts):
        if s.contexts[context].trigger.state == CLEARING:
            clearing |= 1 << context
    return clearing


@inlined
def step_port(s: GoldenState, inputs: Words, g: int) -> bool:
    """Advance the register port by one cycle; return whether a write acts."""
    changes = bus_changes(s.gpu.bus, inputs, g)
    count_registers(s, changes)
    return changes and step_bus(s, inputs, g)


@inlined
def _step_banks(s: GoldenState, clear: int, taken_bank: int) -> bool:
    """Advance all banks by one cycle; return whether the tracker may change in the next one."""
    busy = False
    begin_entries(s)
    for index in range(s.config.banks):
        busy |= count_bank(s, index, clear, taken_bank == index)
        bank = step_bank(s, index, clear)
        if bank.failure:
            log = s.logs[CONTEXT + owner_of(bank.failure)]
            report_error(log, RANK.bank, bank.failure, 0)
            note_unit_error(s, True)
        busy |= bank.busy
    for context in range(s.config.contexts):
        busy |= s.contexts[context].tracker.entries_moved != 0
    return busy or s.gpu.merge.completions_waiting != 0


@inlined
def _track(s: GoldenState, tracking: bool, clear: int) -> None:
    """Advance the tracker by one cycle, and the contexts' trigger units behind it.

    Parameters
    ----------
    tracking : bool
        The tracker may change.
    clear : int
        Strobes: a bit for each context whose entries are to be cleared.
    """
    gpu, scrubs = s.gpu, s.gpu.scrubber.scrubbing != 0
    if scrubs:
        for index in range(s.config.banks):
            look_at_scrub(s, index)
    begin_tracker(s, clear)
    if tracking:
        # In this order each block sees the completions at the start of the cycle.
        count_front(s, step_front(s))
        offer_completion(s)
    offered_bank, any_taken = gpu.merge.offered_bank, False
    for context in range(s.config.contexts):
        walks = scrubs and scrubs_rows(s, context)
        active, taken = step_trigger_unit(s, context)
        enable_unit(s, context, UNIT.trigger, active or walks or gpu.injection.strobe != 0)
        any_taken |= taken
    count_merge(s, any_taken)
    if tracking:
        gpu.tracker_busy = _step_banks(s, clear, offered_bank if any_taken else -1)
    end_tracker(s)


@inlined
def _send(s: GoldenState, inputs: Words, tick: bool) -> None:
    """Advance the contexts' engines and their queues of commands by one cycle."""
    waits = tick and packet_waits(s.config, s.channels, inputs)
    for context in range(s.config.contexts):
        active, engine = step_sender(s, context)
        enable_unit(s, context, UNIT.trigger, active)
        enable_unit(s, context, UNIT.engine, engine.active)
        own = s.contexts[context].criticality
        counts = step_congestion(s.config, own, s.channels, waits, tick)
        enable_unit(s, context, UNIT.criticality, counts)


@inlined
def _step_channel(
    s: GoldenState, number: int, inputs: Words, outputs: Words, measure: bool
) -> tuple[int, bool, bool]:
    """Advance a channel by one cycle.

    Returns
    -------
    sender : int
        Context whose packet the link accepts, as a one-hot bit.
    reports : bool
        The channel reports an error or a correction.
    freed : bool
        A lane has space for a segment again.
    """
    channel = s.channels[number]
    done = step_channel(s, number, inputs, measure)
    reports = done.corrected
    if done.store_failure | done.packet_failure | done.ack_failure:
        reports = True
        log = s.logs[CONTEXT + owner_of(done.store_failure)]
        report_error(log, RANK.store, done.store_failure, done.store_place)
        report_packet_error(s.logs, done.packet_failure, done.packet_place)
        log = s.logs[CONTEXT + owner_of(done.ack_failure)]
        report_error(log, RANK.issue_ack, done.ack_failure, place_of(0, 0, number, False))
    if done.corrected:
        note_corrected(s.gpu.corrections, True)
    nmc = False
    if s.config.with_data:
        nmc = step_nmc(channel.nmc, number, s.gpu.cycle, s.contexts, inputs, outputs)
    update_channel(s.config, channel, outputs, done)
    channel.quiescent = not count_channel(s, channel, done, nmc)
    return done.sender, reports, done.freed


@inlined
def _step_channels(
    s: GoldenState, inputs: Words, outputs: Words, measure: bool, disturbed: bool
) -> tuple[bool, int, bool, bool, bool, bool]:
    """Advance all channels by one cycle, except for quiescent channels whose inputs do not change.

    Parameters
    ----------
    measure : bool
        The arbiters begin to measure.
    disturbed : bool
        Signals to all channels may change.

    Returns
    -------
    active : bool
        A channel is not quiescent.
    sends : int
        Contexts whose packet the link accepts, one bit each.
    tracked : bool
        A channel has records for the tracker.
    reports : bool
        A channel changes signals to the contexts' registers.
    freed : bool
        A lane has space for a segment again.
    comes : bool
        A link reports an error.
    """
    gpu = s.gpu
    active, sends, queued, reports, freed, comes = False, 0, 0, False, False, False
    busy = undrained = unsent = 0
    for index in range(s.config.channels):
        number = natural(index)
        channel, i = s.channels[number], natural(number * CHANNEL_INPUTS)
        comes |= note_link(gpu.links, channel, inputs[i + I.link_down], inputs[i + I.link_reset])
        if disturbed or not channel.quiescent or changes_channel(s, number, inputs):
            sender, changes, frees = _step_channel(s, number, inputs, outputs, measure)
            sends |= sender
            reports |= changes
            freed |= frees
            active |= channel.quiescent == 0
        busy |= channel.busy
        undrained |= channel.undrained
        unsent |= channel.unsent
        queued |= channel.queued
    changes = gpu.channels_busy != busy or gpu.channels_undrained != undrained
    reports |= comes or changes or gpu.channels_unsent != unsent
    gpu.channels_busy, gpu.channels_undrained, gpu.channels_unsent = busy, undrained, unsent
    return active, sends, queued & _TRACKED != 0, reports, freed, comes


@inlined
def begin_contexts(s: GoldenState, acts: bool) -> tuple[int, int, int, int, int, bool, bool]:
    """Advance the launch controls by one cycle.

    Returns
    -------
    takes, busy, pending, aborted : int
        A bit for each context, as :func:`~.context.unit.begin_context` returns them.
    clear : int
        A bit for each context whose entries are to be cleared.
    measure, disturbed : bool
        The arbiters begin to measure; signals to all channels may change.
    """
    clearing, changed, disturbed = 0, 0, False
    for context in range(s.config.contexts):
        own = s.contexts[context]
        changed |= is_changing(own.control) << context
        if own.control.aborting:
            clearing = _clearing(s)
            disturbed = True
        disturbed |= own.aborted != 0
    s.gpu.changing = changed
    disturbed |= changed != 0
    takes, busy, pending, aborted, clear, measure = 0, 0, 0, 0, 0, False
    for context in range(s.config.contexts):
        own = s.contexts[context]
        strobes = take_strobes(own.control)
        look_at_page(s, context, strobes, acts)
        begins, is_busy, waits, is_aborted = begin_context(s, context, strobes, clearing)
        enable_unit(s, context, UNIT.page, own.cycle.launch_ends != 0)
        takes |= begins << context
        busy |= is_busy << context
        pending |= waits << context
        aborted |= is_aborted << context
        if strobes & ABORT:
            disturbed = True
            if has_tiles(own.tracker) and not clears_context(s, context):
                clear |= 1 << context
        measure |= strobes & MEASURE != 0
    return takes, busy, pending, aborted, clear, measure, disturbed or measure


@inlined
def _begin(
    s: GoldenState, inputs: Words, acts: bool, tick: bool
) -> tuple[int, int, int, int, bool, bool, bool]:
    """Advance the blocks between the register port and the channels by one cycle.

    Parameters
    ----------
    acts : bool
        A write acts in this cycle.
    tick : bool
        Pulse of the timebase.

    Returns
    -------
    takes, busy, pending, aborted : int
    measure, disturbed : bool
        As those of :func:`begin_contexts`.
    arms : bool
        The register that shows armed bit errors changes.
    """
    gpu, injection = s.gpu, s.gpu.injection
    shown = injection.armed_shown
    if injection.injecting:
        arm_banks(injection, s.registers)
    arms = injection.armed_shown != shown
    takes, busy, pending, aborted, clear, measure, disturbed = begin_contexts(s, acts)
    tracking = gpu.tracker_busy | injection.strobe | gpu.scrubber.scrubbing != 0 or clear != 0
    for number in range(s.config.channels):
        tracking |= s.channels[natural(number)].queued & _TRACKED != 0
    _track(s, tracking, clear)
    _send(s, inputs, tick)
    return takes, busy, pending, aborted, measure, disturbed or injection.strobe != 0, arms


@inlined
def _step_status(s: GoldenState, arms: bool) -> None:
    """Advance the status register of all contexts by one cycle.

    Parameters
    ----------
    arms : bool
        The register that shows armed bit errors changes.
    """
    gpu, changes = s.gpu, arms
    for context in range(s.config.contexts):
        own = s.contexts[context]
        rests, sent = own_idle(own), own_sent(own)
        idle = rests and not gpu.channels_busy >> context & 1
        drained = rests and not gpu.channels_undrained >> context & 1
        sent = sent and not gpu.channels_unsent >> context & 1
        changes |= step_status(own.status, idle, drained, sent)
    count_status(s, changes)


@inlined
def end_shared(s: GoldenState) -> None:
    """End a cycle of the counters of corrected words, of the scrubber and of the injection."""
    gpu = s.gpu
    step_corrections(gpu.corrections, s.registers)
    if gpu.scrubber.scrubbing:
        step_scrubber(gpu.scrubber, s.registers)
    if gpu.injection.injecting:
        step_injection(gpu.injection, s.registers)


@inlined
def _end(
    s: GoldenState,
    inputs: Words,
    k: int,
    tick: bool,
    sends: int,
    takes: int,
    comes: bool,
    arms: bool,
) -> None:
    """Advance the blocks behind the channels by one cycle.

    Parameters
    ----------
    k : int
        Index of the GPU's first input.
    tick : bool
        Pulse of the timebase.
    sends, takes : int
        Contexts whose packet the link accepts; contexts whose launch begins; one bit each.
    comes : bool
        A link reports an error.
    arms : bool
        The register that shows armed bit errors changes.
    """
    gpu = s.gpu
    if s.config.contexts > 1:
        for context in range(s.config.contexts):
            step_gates(s, context)
    for context in range(s.config.contexts):
        criticality, window, failure = step_units(
            s, context, sends >> context & 1 != 0, tick, inputs, k
        )
        external, peers, limits = step_external(s, context, inputs, k)
        note_unit_error(s, failure)
        end_context(s, context, takes >> context & 1 != 0)
        count_units(s, context, criticality, window, external, peers, limits)
    _step_status(s, arms)
    look_at_global_page(s)
    step_global_page(s)
    count_link_errors(s, comes)
    report_global_errors(s, s.logs[GLOBAL])
    end_shared(s)
    combine_contexts(gpu.arbiter_inputs, s.contexts, s.config.contexts)


@inlined
def look_at_write(s: GoldenState) -> tuple[bool, bool]:
    """Return whether the write that acts commits a region that overlaps another context's, or one
    that must not move; before a launch begins in the cycle.
    """
    bus = s.gpu.bus
    foreign = is_foreign(s, bus.awaddr, bus.privileged, bus.wdata)
    return foreign, moves_fixed(s, bus.awaddr, bus.wdata)


@inlined
def step_write(
    s: GoldenState, busy: int, pending: int, aborted: int, foreign: bool, fixed: bool
) -> None:
    """Do the write that acts; the next cycle sees its effects."""
    bus = s.gpu.bus
    written = natural((bus.awaddr >> PAGE_BITS) - CONTEXT)
    copies = 0
    if written < s.config.contexts:
        copies = s.contexts[written].cycle.copies_before
    response = write_register(
        s,
        bus.awaddr,
        bus.wstrb,
        bus.privileged,
        bus.wdata,
        copies,
        busy,
        pending,
        aborted,
        foreign,
        fixed,
    )
    respond(bus, response)


@inlined
def _timeout_counts(s: GoldenState) -> bool:
    """Return whether a context's timeout counts; a packet that leaves restarts the timeout."""
    for context in range(s.config.contexts):
        if s.contexts[context].window.waited:
            return True
    return False


@inlined
def _continue_comparisons(s: GoldenState) -> None:
    """Advance the comparisons of criticality by one cycle in which they only count."""
    for context in range(s.config.contexts):
        own = s.contexts[context].criticality
        if is_comparing(own):
            continue_comparison(own)
            count_comparison(s)


@inlined
def _inputs_are_calm(s: GoldenState, inputs: Words, k: int) -> bool:
    """Return whether no input outside the channels changes a block."""
    comes = inputs[k + G.tick] | inputs[k + G.bus_awvalid] | inputs[k + G.bus_wvalid]
    return comes | inputs[k + G.bus_arvalid] == 0 and inputs_are_calm(s, inputs, k)


@inlined
def step(state: GoldenState, inputs: Words, outputs: Words) -> bool:
    """Advance by one clock cycle.

    Parameters
    ----------
    inputs : array of uint64
        Inputs of the cycle, in the columns of :mod:`sysmodel.engine.ports`.
    outputs : array of uint64
        Outputs of the last cycle, or of the reset. The function updates the outputs that change.
        Payloads of streams without an offer keep their values.

    Returns
    -------
    bool
        A clock is enabled in this cycle. A cycle without an enabled clock changes no state.
    """
    s, gpu = state, state.gpu
    words = inputs.view(np.int64)
    results = outputs.view(np.int64)
    k = natural(s.config.channels * CHANNEL_INPUTS)
    begin_cycle(s)
    calm = gpu.quiescent != 0 and _inputs_are_calm(s, words, k)
    acts, takes, busy, pending, aborted = False, 0, 0, 0, 0
    measure = disturbed = tick = arms = False
    if not calm:
        tick = words[k + G.tick] != 0
        acts = step_port(s, words, k)
        takes, busy, pending, aborted, measure, disturbed, arms = _begin(s, words, acts, tick)
    active, sends, tracked, reports, freed, comes = _step_channels(
        s, words, results, measure, disturbed
    )
    if calm and not reports and not (sends and _timeout_counts(s)):
        _continue_comparisons(s)
        gpu.quiescent = not (tracked or freed)
    else:
        foreign = fixed = False
        if acts:
            foreign, fixed = look_at_write(s)
        _end(s, words, k, tick, sends, takes, comes, arms)
        if acts:
            step_write(s, busy, pending, aborted, foreign, fixed)
        count_shared(s, acts)
        write_units(s, results)
        changes = any_changes(s) or reports or freed or gpu.tracker_busy != 0
        gpu.quiescent = not (calm or changes or tracked)
    gpu.cycle += 1
    return active or any_enabled(s)


def reset(state: GoldenState, outputs: Words) -> None:
    """Set the state to its values after reset, and write the outputs of the first cycle."""
    for name in set(state._fields) - {"config", "gpu", "activity", "turns", "registers"}:
        array = getattr(state, name)
        array[...] = np.zeros((), array.dtype)
    state.registers["contents"] = state.registers["reset"]
    state.banks["clearing"] = 1
    state.banks["wrote_cycle"] = -EVENTS
    channels = state.channels
    channels["nmc"]["nmc_left"] = NMC_LATENCY - 1
    channels["merge"]["compute_last"] = channels["merge"]["communication_last"] = 1
    channels["arbiter"]["arbiter_last"] = channels["front_last"] = channels["ends_last"] = 1
    channels["link_turns"]["link_last"] = 1
    channels["measurement"]["measured"] = NO_LIMIT
    channels["number"] = np.arange(len(channels))
    channels["stale"] = 1
    outputs[:] = 0
    _settle(state, outputs)


@compiled
def _settle(s: GoldenState, outputs: Words) -> None:
    """Reset the GPU's record, and the state and the outputs that follow from the registers."""
    clear_record(s.gpu)
    clear_record(s.activity)
    s.gpu.tracker_busy = 1
    decode(s)
    results = outputs.view(np.int64)
    for number in range(s.config.channels):
        write_channel(s.config, s.channels[natural(number)], results)
        if s.config.with_data:
            results[number * CHANNEL_OUTPUTS + O.nmc_in_ready] = 1
    for context in range(s.config.contexts):
        own = s.contexts[context]
        reset_control(own.control)
        reset_engine(own.engine)
        begin_clearing(own.trigger)
    write_units(s, results)
