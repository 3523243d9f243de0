"""What each channel's share of the link does in a cycle: it has a packet, or waits for one."""

import numpy as np

from sysmodel.engine.codes import READ
from sysmodel.engine.ports import DRAM, REQUEST, O
from sysmodel.gpu.kernel import ATOM_BYTES
from sysmodel.lib.compiled import inlined
from sysmodel.memory.dram import dram_level, dram_reads
from sysmodel.network.link import receiver_of

__all__ = ["GPU_FIELDS", "WIRE_STATES", "pass_wire"]

WIRE_STATES = ("link", "receiver", "memory", "ports", "latency", "idle")
"""The first that holds: a packet is at the link, for its rate or for room in the receiver's buffer;
reads are in the memory, or on their way to it or back; a collective's loads and stores wait for the
compute units' ports; packets are on their way. Then writes are in the memory, which counts as it,
or nothing is under way."""
_LINK, _RECEIVER, _MEMORY, _PORTS, _LATENCY, _IDLE = range(len(WIRE_STATES))

GPU_FIELDS = [("wire_cycles", np.int64, (len(WIRE_STATES),))]  # of all simulated channels


@inlined
def _state(s, g, c, outputs, sending):
    f, gpu = s.fixed[0], s.gpu[g]
    q = g * f.channels + c
    channel = s.channel[q]
    if outputs[O.link_out_valid]:
        return _LINK if sending or gpu.credit_bytes < ATOM_BYTES else _RECEIVER
    waits = outputs[O.dram_valid] != 0
    reads = waits and outputs[DRAM + REQUEST.access] == READ
    if reads or channel.back_count > 0 or dram_reads(s.dram, q) > 0:
        return _MEMORY
    if gpu.operands and channel.loading + channel.storing + channel.hit_count > 0:
        return _PORTS
    if receiver_of(s, g, c).packet_count > 0:
        return _LATENCY
    return _MEMORY if waits or dram_level(s.dram, q) > 0 else _IDLE


@inlined
def pass_wire(s, g: int, c: int, cycles: int, outputs: np.ndarray, sending: bool) -> None:
    """Count so many cycles like this one; ``outputs`` are the channel's, and ``sending`` is
    whether the link takes what they offer."""
    s.gpu[g].wire_cycles[_state(s, g, c, outputs, sending)] += cycles
