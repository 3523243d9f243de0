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
def compute(f, gpu, slot, now):
    """Queue a step on the CU's matrix pipe, or let it wait for the workgroup's turn."""
    enter(gpu, slot, ON_PIPE, now)
    if f.pipe_turns != STEPS and not _has_turn(f, gpu, slot):
        gpu.awaits_turn[slot] = 1
        return
    _start(f, gpu, slot, now)


@inlined
def end_turn(f, gpu, slot, now):
    """End a workgroup's turn, and start the waiting step of the workgroup whose turn it is now."""
    gpu.wants_pipe[slot] = 0
    if f.pipe_turns == STEPS:
        return
    first = slot // f.slots_per_cu * f.slots_per_cu
    for other in range(first, first + f.slots_per_cu):
        if gpu.awaits_turn[other] and _has_turn(f, gpu, other):
            gpu.awaits_turn[other] = 0
            _start(f, gpu, other, now)


@inlined
def _has_turn(f, gpu, slot):
    """Return True if no workgroup of the CU that was dispatched earlier wants the pipe."""
    first = slot // f.slots_per_cu * f.slots_per_cu
    for other in range(first, first + f.slots_per_cu):
        earlier = gpu.dispatch_index[other] < gpu.dispatch_index[slot]
        if gpu.wants_pipe[other] and earlier:
            return False
    return True


@inlined
def _start(f, gpu, slot, now):
    cycles = gpu.step_cycles
    if gpu.step[slot] == gpu.steps - 1:
        # K granularity of the matrix instruction (32x32x8).
        cycles *= (gpu.tail_k + 7) // 8 * 8 / gpu.depth_u
    cu = slot // f.slots_per_cu
    end = max(float(now), gpu.pipe_free[cu]) + cycles
    gpu.pipe_free[cu] = end
    heap_push(gpu, np.int64(np.ceil(end)), slot * 8 + DONE)
