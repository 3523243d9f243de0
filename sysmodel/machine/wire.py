"""Use of the rate of a GPU's links, with the causes of its idle time."""

import numpy as np

from sysmodel.engine.codes import READ
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, DRAM, REQUEST, I, O
from sysmodel.lib.compiled import inlined
from sysmodel.memory.dram import dram_level, dram_reads

__all__ = ["GPU_FIELDS", "WIRE_STATES", "pass_wire"]

WIRE_STATES = ("link", "receiver", "memory", "ports", "latency", "idle")
"""States of the link.

``link``: the rate is used, or every channel sends. The unused rate is divided equally among the
channels that do not send, by the first cause that applies: ``receiver`` (no space in the receiver's
buffer), ``memory`` (reads in flight), ``ports`` (the compute units' ports, for loads and stores of
a collective), ``latency`` (packets in flight), ``memory`` again (writes in flight), or ``idle``.
"""
_LINK, _RECEIVER, _MEMORY, _PORTS, _LATENCY, _IDLE = range(len(WIRE_STATES))

GPU_FIELDS = [("wire_cycles", np.float64, (len(WIRE_STATES),))]


@inlined
def _sends(s, g, c):
    ready = s.inputs[g, c * CHANNEL_INPUTS + I.link_out_ready]
    return s.outputs[g, c * CHANNEL_OUTPUTS + O.link_out_valid] != 0 and ready != 0


@inlined
def _wait(s, g, c):
    f, gpu = s.fixed[0], s.gpu[g]
    q = g * f.channels + c
    channel = s.channel[q]
    outputs = s.outputs[g, c * CHANNEL_OUTPUTS : (c + 1) * CHANNEL_OUTPUTS]
    if outputs[O.link_out_valid]:
        return _RECEIVER
    waits = outputs[O.dram_valid] != 0
    reads = waits and outputs[DRAM + REQUEST.access] == READ
    if reads or channel.back_count > 0 or dram_reads(s.dram, q) > 0:
        return _MEMORY
    if gpu.tasks and channel.loading + channel.storing + channel.hit_count > 0:
        return _PORTS
    if channel.outstanding > 0:
        return _LATENCY
    return _MEMORY if waits or dram_level(s.dram, q) > 0 else _IDLE


@inlined
def pass_wire(s, g: int, cycles: int, unused_bytes: float) -> None:
    """Count cycles in which ``unused_bytes`` of the rate of the GPU's links are not used."""
    f, gpu = s.fixed[0], s.gpu[g]
    unused = unused_bytes / gpu.link_rate_bytes
    waiting = 0
    if unused > 0:
        for c in range(f.channels):
            waiting += 0 if _sends(s, g, c) else 1
    if waiting == 0:
        gpu.wire_cycles[_LINK] += cycles
        return
    gpu.wire_cycles[_LINK] += cycles - unused
    for c in range(f.channels):
        if not _sends(s, g, c):
            gpu.wire_cycles[_wait(s, g, c)] += unused / waiting
