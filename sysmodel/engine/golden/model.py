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
from .arbiter import ANY
from .channel import step_channel, write_channel
from .credit_window import TIMEOUT, step_credit_window
from .dma import step_engine
from .protected_queue import is_empty
from .queues import Q, natural
from .reduce import step_nmc
from .registers import decode, step_bus
from .state import BANK_WORDS, CHANNEL_WORDS, RESET, VALUE, B, C, F, K, U
from .tables import write_register
from .tracker_bank import clear_bank, count_entries, step_bank
from .tracker_front import step_front
from .trigger import CLEARING, IDLE, begin_clearing, step_ready, step_trigger

__all__ = ["reset", "step"]

_LAUNCH = F.CONTROL_launch[2] << F.CONTROL_launch[1]
_CLEAR = F.CONTROL_clear[2] << F.CONTROL_clear[1]
_MEASURE = F.CONTROL_measure[2] << F.CONTROL_measure[1]
_CLEAR_ERROR = F.CONTROL_clear_error[2] << F.CONTROL_clear_error[1]
# What waits for the tracker.
_TRACKED = sum(15 << (4 * queue) for queue in (Q.issue_acks, Q.ends, Q.candidates))


@inlined
def _write_gpu(s, outputs, h):
    gpu = s.gpu
    outputs[h + H.bus_awready] = not gpu[U.aw_full]
    outputs[h + H.bus_wready] = not gpu[U.w_full]
    outputs[h + H.bus_bresp] = gpu[U.b_resp]
    outputs[h + H.bus_bvalid] = gpu[U.b_valid]
    outputs[h + H.bus_arready] = not gpu[U.ar_full]
    outputs[h + H.bus_rdata] = gpu[U.r_data]
    outputs[h + H.bus_rresp] = gpu[U.r_resp]
    outputs[h + H.bus_rvalid] = gpu[U.r_valid]
    outputs[h + H.credit_limit_out] = gpu[U.credit_limit]
    outputs[h + H.dispatch_limit] = gpu[U.dispatch_limit]
    outputs[h + H.tiles] = gpu[U.tiles]
    outputs[h + H.done] = gpu[U.done]
    outputs[h + H.idle] = gpu[U.idle]
    outputs[h + H.irq] = gpu[U.error]


@compiled
def _step_banks(s, clear):
    """All banks; gives the first one's error and whether a bank has work left."""
    config, memory = s.config, s.memory
    failure = 0
    busy = False
    bank = natural(config[C.at_banks])
    for _ in range(config[C.banks]):
        if memory[bank + B.flying]:
            second = step_bank(s, bank)
            failure = failure if failure else second
        if clear or memory[bank + B.clearing]:
            clear_bank(s, bank, clear)
        busy |= memory[bank + B.flying] | memory[bank + B.clearing] != 0
        bank = natural(bank + BANK_WORDS)
    return failure, busy or s.gpu[U.completions] != 0


@compiled
def _clearing(s):
    """Whether the tracker or the trigger unit is being emptied."""
    config = s.config
    clearing = s.gpu[U.trigger_state] == CLEARING
    for index in range(config[C.banks]):
        clearing |= s.memory[config[C.at_banks] + index * BANK_WORDS + B.clearing] != 0
    return clearing


@inlined
def _keep_error(gpu, failure, clear):
    """Count the error of this cycle, which a block reported in the one before."""
    if clear:
        gpu[U.error] = 0
        gpu[U.report] = 0
        gpu[U.errors] = 0
    if failure:
        if not gpu[U.error]:
            gpu[U.report] = failure
        gpu[U.error] = 1
        gpu[U.errors] = (gpu[U.errors] + 1) & 0xFFFFFFFF


@compiled
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
    config, gpu, channel = s.config, s.gpu, s.channels
    words = inputs.view(np.int64)
    results = outputs.view(np.int64)
    channels = config[C.channels]
    g = natural(channels * CHANNEL_INPUTS)
    credit_limit_in = words[g + G.credit_limit_in]

    acts = False
    if (
        gpu[U.aw_full]
        | gpu[U.w_full]
        | gpu[U.b_valid]
        | gpu[U.ar_full]
        | gpu[U.r_valid]
        | words[g + G.bus_awvalid]
        | words[g + G.bus_wvalid]
        | words[g + G.bus_arvalid]
    ):
        acts = step_bus(s, words, g, _clearing(s))
    strobes = gpu[U.strobes]
    gpu[U.strobes] = 0
    copies = gpu[U.copies_level]
    has_ready = not is_empty(gpu, U.ready_head)
    busy = has_ready or copies | gpu[U.engine] | gpu[U.entries] != 0

    tracking = gpu[U.tracker_busy] != 0
    for number in range(channels):
        levels = channel[natural(number * CHANNEL_WORDS) + K.levels]
        tracking |= levels & _TRACKED != 0
    clear = strobes & _CLEAR != 0
    if clear or gpu[U.entries_change] != 0:
        count_entries(s, clear)
    failure = 0
    pushed, complete, own = False, -1, False
    if tracking or clear:
        # In this order each sees the completions of the cycle's start.
        step_front(s)
        pushed, complete, own = step_trigger(s)
        failure, gpu[U.tracker_busy] = _step_banks(s, clear)
    elif gpu[U.trigger_state] != IDLE:
        pushed, complete, own = step_trigger(s)
    if clear:
        begin_clearing(s)
    popped, issued = step_engine(s, credit_limit_in)
    if pushed or has_ready:
        step_ready(s, pushed, popped)

    first = 0
    sends = False
    measure = strobes & _MEASURE != 0
    for number in range(channels):
        second, more, sent = step_channel(s, number, words, measure)
        first = first if first else second
        busy |= more
        sends |= sent
        write_channel(s, number, results)
        if config[C.with_data]:
            step_nmc(s, number, words, results)
    failure = first if first else failure
    base = gpu[U.oldest]
    launch = strobes & _LAUNCH != 0
    unfinished = not gpu[U.idle] and not sends
    if (
        step_credit_window(s, credit_limit_in, complete, own, issued, launch, unfinished)
        and not failure
    ):
        failure = error(TIMEOUT, base & config[C.dispatch_index_mask], 0)
    if gpu[U.failure] or strobes:
        _keep_error(gpu, gpu[U.failure], strobes & _CLEAR_ERROR != 0)
    gpu[U.failure] = failure
    gpu[U.idle] = not busy
    if acts:
        write_register(s, copies)
    gpu[U.cycle] += 1
    _write_gpu(s, results, natural(channels * CHANNEL_OUTPUTS))


@compiled
def reset(state, outputs):
    """Put everything to what it is after reset, and write the first cycle's outputs.

    Parameters
    ----------
    state : GoldenState
    outputs : array of uint64
    """
    s = state
    config, gpu, channel, memory = s.config, s.gpu, s.channels, s.memory
    config[config[C.at_regions] :] = 0
    gpu[:] = 0
    channel[:] = 0
    memory[:] = 0
    for word in range(s.registers.shape[0]):
        s.registers[word, VALUE] = s.registers[word, RESET]
    decode(s)
    gpu[U.engine_last] = 1
    gpu[U.tracker_busy] = 1
    begin_clearing(s)
    for index in range(config[C.banks]):
        clear_bank(s, config[C.at_banks] + index * BANK_WORDS, True)
    outputs[:] = 0
    results = outputs.view(np.int64)
    for number in range(config[C.channels]):
        k = number * CHANNEL_WORDS
        channel[k + K.compute_last] = 1
        channel[k + K.communication_last] = 1
        channel[k + K.link_last] = 1
        channel[k + K.arbiter_last] = 1
        channel[k + K.front_last] = 1
        channel[k + K.measured] = ANY
        write_channel(s, number, results)
        if config[C.with_data]:
            results[number * CHANNEL_OUTPUTS + O.nmc_in_ready] = 1
    _write_gpu(s, results, config[C.channels] * CHANNEL_OUTPUTS)
