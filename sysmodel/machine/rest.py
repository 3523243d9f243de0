"""Idle cycles, which the cycle loop skips.

While all clocks of the hardware are gated, its outputs are constant, and the rest of the machine is
idle until its first event. Counters that advance during the skipped cycles are updated here.
"""

import numpy as np

from sysmodel.engine.codes import TICK_CYCLES
from sysmodel.engine.ports import CHANNEL_OUTPUTS, O
from sysmodel.gpu.collective import collective_rests_until
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.cycles import NEVER
from sysmodel.memory.accesses import next_return
from sysmodel.memory.dram import dram_level, dram_rests_until, pass_dram
from sysmodel.network.link import next_admission, next_packet, pass_credit
from sysmodel.network.queues import queues_rest_until

from .bus import bus_rests
from .kernels import kernels_rest_until, pass_kernels
from .wire import pass_wire

__all__ = ["pass_time", "rests_until"]


@inlined
def _channel_rests_until(s, g, c, now):
    """First cycle from ``now`` on in which a channel may act; accesses retry every cycle."""
    f = s.fixed[0]
    q = g * f.channels + c
    channel = s.channel[q]
    outputs = s.outputs[g, c * CHANNEL_OUTPUTS : (c + 1) * CHANNEL_OUTPUTS]
    if outputs[O.issue_acks_ready] == 0 or outputs[O.link_out_valid]:
        return now
    if outputs[O.dram_valid] and dram_level(s.dram, q) < f.queue_depth:
        return now
    if channel.request_count | channel.misses | channel.store_count | s.l2.channels[q].write_backs:
        return now
    at = collective_rests_until(channel, now) if s.gpu[g].tasks else NEVER
    if at <= now:
        return now
    memory = dram_rests_until(s.dram, q, now * f.clock_divider) // f.clock_divider
    return min(min(at, memory), min(next_return(s, channel), next_packet(s, channel)))


@inlined
def _gpu_rests_until(s, g, now):
    f, gpu = s.fixed[0], s.gpu[g]
    if not bus_rests(gpu):
        return now
    outputs = s.outputs[g, f.channels * CHANNEL_OUTPUTS :]
    at = min(np.int64(f.sample_next), kernels_rest_until(s, g, now, outputs))
    for n in range(f.contexts):
        at = min(at, next_admission(s, s.context[g, n]))
    for c in range(f.channels):
        if at <= now:
            return now
        at = min(at, _channel_rests_until(s, g, c, now))
    return at


@compiled
def rests_until(s, now, end):
    """First cycle from ``now`` on in which the machine may act, at most ``end``.

    The clocks of the hardware must be gated, with the inputs of an idle cycle.
    """
    f = s.fixed[0]
    at = min(end, (now + TICK_CYCLES - 1) // TICK_CYCLES * TICK_CYCLES)
    if f.link_stall > 0:  # a link with random stalls draws a number in every cycle
        return now
    at = min(at, queues_rest_until(s, now))
    for g in range(f.gpus):
        at = min(at, _gpu_rests_until(s, g, now))
        if at <= now:
            return now
    return at


@compiled
def pass_time(s, now, cycles):
    """Update all counters for idle cycles from ``now`` on."""
    f = s.fixed[0]
    f.rested += cycles
    for g in range(f.gpus):
        pass_kernels(s, g, now, cycles)
        for c in range(f.channels):
            pass_dram(s.dram, g * f.channels + c, cycles * f.clock_divider)
        pass_wire(s, g, cycles, pass_credit(s, s.gpu[g], cycles))
