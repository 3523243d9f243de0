"""Kernels of the contexts on the compute units, under the hardware's flow control."""

import numpy as np

from sysmodel.engine.ports import K
from sysmodel.gpu.producer import next_step, pass_waiting, produce
from sysmodel.lib.compiled import inlined
from sysmodel.lib.cycles import NEVER

from .l2_service import drained

__all__ = ["kernel_rests_until", "pass_kernel", "step_kernel"]

_NO_LIMIT = np.int64(1) << 40  # beyond every dispatch index


@inlined
def _limit(f, outputs, own):
    """Dispatch limit of a context, whose outputs begin at ``own``."""
    return np.int64(outputs[own + K.dispatch_limit]) if f.flow else _NO_LIMIT


@inlined
def step_kernel(s, row, now, outputs, own):
    """Simulate one cycle of a context's kernel; the context's outputs begin at ``own``."""
    f, gpu = s.fixed[0], s.gpu[row]
    if f.work and now >= gpu.start and gpu.finish_cycle < 0:
        produce(s, row, now, _limit(f, outputs, own))
        if gpu.finished == gpu.workgroups and drained(s, row):
            gpu.finish_cycle = now
    if gpu.done_cycle < 0 and outputs[own + K.done]:
        gpu.done_cycle = now


@inlined
def kernel_rests_until(s, row, now, outputs, own):
    """First cycle from ``now`` on in which the kernel may act."""
    f, gpu = s.fixed[0], s.gpu[row]
    if gpu.done_cycle < 0 and outputs[own + K.done]:
        return now
    if not f.work or gpu.finish_cycle >= 0:
        return NEVER
    if now < gpu.start:
        return gpu.start
    if gpu.finished == gpu.workgroups:
        return now
    return next_step(s, row, now, _limit(f, outputs, own))


@inlined
def pass_kernel(s, row, now, cycles, outputs, own):
    """Count cycles from ``now`` on in which the kernel is idle."""
    f, gpu = s.fixed[0], s.gpu[row]
    if f.work and now >= gpu.start and gpu.finish_cycle < 0:
        pass_waiting(s, row, cycles, _limit(f, outputs, own))
