"""Queue of kernels on a GPU's compute units, under the flow control of the kernels' contexts."""

import numpy as np

from sysmodel.engine.ports import CONTEXT_OUTPUTS, K
from sysmodel.gpu.producer import next_step, pass_waiting, produce
from sysmodel.lib.compiled import inlined
from sysmodel.lib.cycles import NEVER

from .l2_service import drained

__all__ = ["kernels_ended", "kernels_rest_until", "pass_kernels", "step_kernels"]

_NO_LIMIT = np.int64(1) << 40  # beyond every dispatch index


@inlined
def _set_limits(s, g, outputs):
    """Set the dispatch limits of all kernels from the outputs of the contexts."""
    for k in range(s.fixed[0].kernels):
        kernel = s.kernel[g, k]
        limit = outputs[kernel.context * CONTEXT_OUTPUTS + K.dispatch_limit]
        kernel.limit = np.int64(limit) - kernel.index_base if kernel.flow else _NO_LIMIT


@inlined
def step_kernels(s, g, now, outputs):
    """Simulate one cycle of a GPU's kernels; the contexts' ``outputs`` follow each other."""
    f = s.fixed[0]
    if f.work:
        _set_limits(s, g, outputs)
        produce(s, g, now)
        for k in range(f.kernels):
            kernel = s.kernel[g, k]
            if kernel.finish_cycle < 0 and kernel.finished == kernel.end and drained(s, g, k):
                kernel.finish_cycle = now
    for n in range(f.contexts):
        if s.context[g, n].done_cycle < 0 and outputs[n * CONTEXT_OUTPUTS + K.done]:
            s.context[g, n].done_cycle = now


@inlined
def kernels_rest_until(s, g, now, outputs):
    """First cycle from ``now`` on in which a GPU's kernels may act."""
    f = s.fixed[0]
    for n in range(f.contexts):
        if s.context[g, n].done_cycle < 0 and outputs[n * CONTEXT_OUTPUTS + K.done]:
            return now
    if not f.work:
        return NEVER
    for k in range(f.kernels):
        kernel = s.kernel[g, k]
        if kernel.finish_cycle < 0 and kernel.finished == kernel.end:
            return now
    _set_limits(s, g, outputs)
    return next_step(s, g, now)


@inlined
def pass_kernels(s, g, now, cycles):
    """Count cycles from ``now`` on in which a GPU's kernels are idle."""
    if s.fixed[0].work:
        pass_waiting(s, g, now, cycles)


@inlined
def kernels_ended(s, g):
    """Return True if all kernels of a GPU that begin at some time have ended."""
    for k in range(s.fixed[0].kernels):
        kernel = s.kernel[g, k]
        if kernel.finish_cycle < 0 and kernel.start < NEVER:
            return False
    return True
