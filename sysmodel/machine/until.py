"""Stop conditions of the cycle loop."""

import numpy as np

from sysmodel.engine.ports import CHANNEL_OUTPUTS, CONTEXT_OUTPUTS, K, O
from sysmodel.gpu.collective import step_done
from sysmodel.lib.compiled import inlined
from sysmodel.memory.dram import dram_level

from .bus import bus_idle
from .kernels import kernels_ended

__all__ = [
    "NEVER",
    "UNTIL_COLLECTIVE",
    "UNTIL_COPIED",
    "UNTIL_GEMM",
    "UNTIL_PROGRAMMED",
    "UNTIL_QUIET",
    "UNTIL_REDUCED",
    "UNTIL_SENT",
    "reached",
]

(
    NEVER,
    UNTIL_PROGRAMMED,
    UNTIL_GEMM,
    UNTIL_REDUCED,
    UNTIL_COLLECTIVE,
    UNTIL_QUIET,
    UNTIL_COPIED,
    UNTIL_SENT,
) = range(8)


@inlined
def _quiet(s, g):
    """Return True if GPU ``g`` has no access in flight outside the hardware, and no packet that it
    has sent."""
    channels = s.fixed[0].channels
    for c in range(channels):
        q = g * channels + c
        if dram_level(s.dram, q) or s.channel[q].back_count or s.channel[q].outstanding:
            return False
        if s.channel[q].in_unit_count:
            return False
        if s.outputs[g, c * CHANNEL_OUTPUTS + O.dram_valid]:
            return False
    return True


@inlined
def _arrived(s, g):
    total = np.int64(0)
    for c in range(s.fixed[0].channels):
        total += np.int64(s.outputs[g, c * CHANNEL_OUTPUTS + O.stored])
    return total >= s.gpu[g].expected


@inlined
def _idle(s, g, context):
    """Return True if the hardware is idle for the context."""
    first = s.fixed[0].channels * CHANNEL_OUTPUTS + context * CONTEXT_OUTPUTS
    return s.outputs[g, first + K.idle]


@inlined
def reached(s, g, context, until):
    """Return True if the condition holds for a context on GPU ``g``."""
    if until == NEVER or not bus_idle(s.gpu[g]):
        return False
    if until == UNTIL_GEMM:
        return kernels_ended(s, g) and _quiet(s, g)
    if until == UNTIL_REDUCED:
        if not kernels_ended(s, g) or s.context[g, context].done_cycle < 0:
            return False
        return _idle(s, g, context) and _quiet(s, g)
    if until == UNTIL_COLLECTIVE:
        return step_done(s, g) and _arrived(s, g)
    if until == UNTIL_QUIET:
        return _quiet(s, g)
    if until == UNTIL_SENT:
        return _idle(s, g, context)
    if until == UNTIL_COPIED:
        return _arrived(s, g) and _idle(s, g, context)
    return True
