"""Matrix pipe of a CU, which serves one step of one workgroup at a time.

Workgroups of a CU alternate on the pipe step by step; or each has its turn, in the order of
dispatch, for its main loop or until its last store has left. While one workgroup has its turn, the
next one already loads its first tiles.
"""

import numpy as np

from sysmodel.lib.compiled import inlined

from .events import DONE, heap_push
from .slots import ON_PIPE, enter

__all__ = ["MAIN_LOOPS", "STEPS", "TILES", "compute", "end_turn"]

STEPS, MAIN_LOOPS, TILES = range(3)


@inlined
def compute(s, g, slot, now):
    """Queue a step on the CU's matrix pipe, or let it wait for the workgroup's turn."""
    f, gpu = s.fixed[0], s.gpu[g]
    enter(gpu, slot, ON_PIPE, now)
    if f.pipe_turns != STEPS and not _has_turn(f, gpu, slot):
        gpu.awaits_turn[slot] = 1
        return
    _start(s, g, slot, now)


@inlined
def end_turn(s, g, slot, now):
    """End a workgroup's turn, and start the waiting step of the workgroup whose turn it is now."""
    f, gpu = s.fixed[0], s.gpu[g]
    gpu.wants_pipe[slot] = 0
    if f.pipe_turns == STEPS:
        return
    first = slot // f.slots_per_cu * f.slots_per_cu
    for other in range(first, first + f.slots_per_cu):
        if gpu.awaits_turn[other] and _has_turn(f, gpu, other):
            gpu.awaits_turn[other] = 0
            _start(s, g, other, now)


@inlined
def _has_turn(f, gpu, slot):
    """Return True if no workgroup of the CU that was dispatched earlier wants the pipe."""
    first = slot // f.slots_per_cu * f.slots_per_cu
    for other in range(first, first + f.slots_per_cu):
        earlier = gpu.turn[other] < gpu.turn[slot]
        if gpu.wants_pipe[other] and earlier:
            return False
    return True


@inlined
def _start(s, g, slot, now):
    gpu = s.gpu[g]
    kernel = s.kernel[g, gpu.slot_kernel[slot]]
    cycles = kernel.step_cycles
    if gpu.step[slot] == kernel.steps - 1:
        # K granularity of the matrix instruction (32x32x8).
        cycles *= (kernel.tail_k + 7) // 8 * 8 / kernel.depth_u
    cu = slot // s.fixed[0].slots_per_cu
    end = max(float(now), gpu.pipe_free[cu]) + cycles
    gpu.pipe_free[cu] = end
    heap_push(gpu, np.int64(np.ceil(end)), slot * 8 + DONE)
