"""One cycle of the whole top."""

import numpy as np

from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    G,
    H,
    O,
)
from sysmodel.lib.compiled import compiled, inlined

from .address_map import error
from .arbitration import ANY
from .channel import step_channel, write_channel
from .congestion import look_for_congestion
from .credit_window import TIMEOUT, step_credit_window
from .criticality import LOOK_PHASE, step_criticality
from .dma import step_engine
from .protected_queue import is_empty
from .queues import Q, natural
from .records import clear_record
from .reduce import step_nmc
from .registers import CLEAR, LAUNCH, decode, follow_launch, step_bus
from .state import F, GoldenState
from .tables import write_register
from .tracker_bank import clear_bank, count_entries, step_bank
from .tracker_front import step_front
from .trigger import CLEARING, IDLE, begin_clearing, step_ready, step_trigger

__all__ = ["reset", "step"]

_MEASURE = F.CONTROL_measure[2] << F.CONTROL_measure[1]
_CLEAR_ERROR = F.CONTROL_clear_error[2] << F.CONTROL_clear_error[1]
# What waits for the tracker.
_TRACKED = sum(15 << (4 * queue) for queue in (Q.issue_acks, Q.ends, Q.candidates))


@inlined
def _write_gpu(s, outputs, h):
    gpu, bus = s.gpu, s.gpu.bus
    outputs[h + H.bus_awready] = not bus.aw_full
    outputs[h + H.bus_wready] = not bus.w_full
    outputs[h + H.bus_bresp] = bus.b_resp
    outputs[h + H.bus_bvalid] = bus.b_valid
    outputs[h + H.bus_arready] = not bus.ar_full
    outputs[h + H.bus_rdata] = bus.r_data
    outputs[h + H.bus_rresp] = bus.r_resp
    outputs[h + H.bus_rvalid] = bus.r_valid
    outputs[h + H.credit_limit_out] = gpu.credit_limit
    outputs[h + H.dispatch_limit] = gpu.dispatch_limit
    outputs[h + H.tiles] = gpu.tiles
    outputs[h + H.done] = gpu.done
    outputs[h + H.idle] = gpu.idle
    outputs[h + H.irq] = gpu.error


@inlined
def _step_banks(s, clear):
    """All banks; gives the first one's error and whether a bank has work left."""
    failure = 0
    busy = False
    s.gpu.entries_moved = 0
    for index in range(s.config.banks):
        bank = s.banks[index]
        if bank.flying:
            second = step_bank(s, index)
            failure = failure if failure else second
        if clear or bank.clearing:
            clear_bank(s, index, clear)
        busy |= bank.flying | bank.clearing != 0
    return failure, busy or s.gpu.completions != 0 or s.gpu.entries_moved != 0


@compiled
def _clearing(s):
    """Whether the tracker or the trigger unit is being emptied."""
    clearing = s.gpu.trigger.state == CLEARING
    for index in range(s.config.banks):
        clearing |= s.banks[index].clearing != 0
    return clearing


@inlined
def _keep_error(gpu, failure, clear):
    """Count the error of this cycle, which a block reported in the one before."""
    if clear:
        gpu.error = 0
        gpu.report = 0
        gpu.errors = 0
    if failure:
        if not gpu.error:
            gpu.report = failure
        gpu.error = 1
        gpu.errors = (gpu.errors + 1) & 0xFFFFFFFF


@inlined
def _bus_is_busy(bus, words, g):
    waits = bus.aw_full | bus.w_full | bus.b_valid | bus.ar_full | bus.r_valid
    comes = words[g + G.bus_awvalid] | words[g + G.bus_wvalid] | words[g + G.bus_arvalid]
    return waits | comes != 0


@inlined
def _step_port(s, words, g):
    """The register port; gives whether a write acts, and if so whether something is cleared."""
    if not _bus_is_busy(s.gpu.bus, words, g):
        return False, False
    clearing = _clearing(s)
    return step_bus(s, words, g, clearing), clearing


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
    channels = config.channels
    g = natural(channels * CHANNEL_INPUTS)
    credit_limit_in = words[g + G.credit_limit_in]

    acts, clearing = _step_port(s, words, g)
    strobes = gpu.strobes
    gpu.strobes = 0
    running = follow_launch(gpu, strobes)
    copies = gpu.copies_level
    has_ready = not is_empty(gpu.ready)
    busy = has_ready or copies | gpu.engine.state | gpu.entries != 0

    tracking = gpu.tracker_busy != 0
    for number in range(channels):
        tracking |= s.channels[natural(number)].levels & _TRACKED != 0
    busy |= tracking or gpu.trigger.state != IDLE
    clear = strobes & CLEAR != 0
    if clear or gpu.entries_change != 0:
        count_entries(s, clear)
    failure, pushed, complete, own = 0, False, -1, False
    if tracking or clear:
        # In this order each sees the completions of the cycle's start.
        step_front(s)
        pushed, complete, own = step_trigger(s)
        failure, gpu.tracker_busy = _step_banks(s, clear)
    elif gpu.trigger.state != IDLE:
        pushed, complete, own = step_trigger(s)
    if clear:
        begin_clearing(s)
    popped, issued = step_engine(s, credit_limit_in)
    if pushed or has_ready:
        step_ready(s, pushed, popped)

    if gpu.criticality.phase == LOOK_PHASE:
        look_for_congestion(s)
    first = 0
    sends = False
    measure = strobes & _MEASURE != 0
    for number in range(channels):
        second, more, sent = step_channel(s, number, words, measure)
        first = first if first else second
        busy |= more
        sends |= sent
        write_channel(s, number, results)
        if config.with_data:
            step_nmc(s, number, words, results)
    failure = first if first else failure
    base = gpu.oldest
    launch = strobes & LAUNCH != 0
    step_criticality(s, words[g + G.dispatched], words[g + G.finished], issued, launch)
    unfinished = not gpu.idle and not sends
    if (
        step_credit_window(s, credit_limit_in, complete, own, issued, launch, unfinished)
        and not failure
    ):
        failure = error(TIMEOUT, min(base, config.dispatch_index_mask), 0)
    if gpu.failure or strobes:
        _keep_error(gpu, gpu.failure, strobes & _CLEAR_ERROR != 0)
    gpu.failure = failure
    gpu.idle = not busy
    if acts:
        write_register(s, copies, clearing, running)
    gpu.cycle += 1
    _write_gpu(s, results, natural(channels * CHANNEL_OUTPUTS))


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
    for last in ("compute_last", "communication_last", "link_last", "arbiter_last", "front_last"):
        state.channels[last] = 1
    state.channels["measured"] = ANY
    outputs[:] = 0
    _settle(state, outputs)


@compiled
def _settle(s, outputs):
    """The GPU's record, and what follows from the registers: configuration and outputs."""
    clear_record(s.gpu)
    s.gpu.engine.last = 1
    s.gpu.tracker_busy = 1
    begin_clearing(s)
    decode(s)
    results = outputs.view(np.int64)
    for number in range(s.config.channels):
        write_channel(s, number, results)
        if s.config.with_data:
            results[number * CHANNEL_OUTPUTS + O.nmc_in_ready] = 1
    _write_gpu(s, results, s.config.channels * CHANNEL_OUTPUTS)
