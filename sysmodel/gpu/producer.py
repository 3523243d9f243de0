"""GEMM on the compute units: workgroups that fetch, wait, compute and store.

Workgroups are dispatched in order as slots become free. A workgroup fetches the A and B tiles of
each depth-U step through the L2, ``prefetch`` steps ahead, writes them into its LDS buffer, and
computes on its CU's matrix pipe. After the last step it stores its output tile; the slot becomes
free when the last store has left the CU. Only other workgroups of the same CU hide a workgroup's
waiting.

Time is in memory-clock cycles. ``s`` is the state of ``state.py``, ``g`` a row of its GPUs; with
several contexts, each context's kernel has rows of its own.
"""

import numpy as np

from sysmodel.lib.compiled import compiled, inlined

from .events import DATA, DONE, EPILOGUE, LAUNCHED, READY, STORE, heap_pop, heap_push, next_event
from .fetch import fetch, fetch_output, has_space
from .pipe import MAIN_LOOPS, compute, end_turn
from .slots import AWAITS_L2, AWAITS_MEMORY, FILLS_LDS, STARTS, STORES_OUTPUT, enter
from .stores import begin_stores, emit

__all__ = ["next_step", "pass_waiting", "produce"]


@inlined
def _try_step(f, gpu, slot, now):
    """Move the awaited step's tiles into the LDS if they have arrived."""
    if gpu.arrived[slot * f.prefetch + gpu.step[slot] % f.prefetch]:
        gpu.waiting[slot] = 0
        enter(gpu, slot, FILLS_LDS, now)
        heap_push(gpu, now + gpu.lds, slot * 8 + READY)
    else:
        gpu.waiting[slot] = 1
        enter(gpu, slot, AWAITS_L2, now)


@inlined
def _dispatchable(f, gpu):
    """Limit of the dispatcher: all dispatch indices, or those up to the first unfinished stage."""
    if not f.by_stage:
        return gpu.workgroups
    return min(gpu.workgroups, (gpu.finished // f.slots + 1) * f.slots)


@compiled
def _dispatch(s, g, now, limit):
    f, gpu = s.fixed[0], s.gpu[g]
    while (
        gpu.free_count > 0
        and gpu.next_dispatch_index < min(limit, _dispatchable(f, gpu))
        and gpu.next_dispatch <= now
        and s.hold[g, gpu.next_dispatch_index] == 0
    ):
        slot = gpu.free_ring[gpu.free_head]
        gpu.free_head = (gpu.free_head + 1) % f.slots
        gpu.free_count -= 1
        gpu.dispatch_index[slot] = gpu.next_dispatch_index
        gpu.step[slot] = 0
        gpu.waiting[slot] = 0
        gpu.wants_pipe[slot] = 1
        enter(gpu, slot, STARTS, now)
        stage = gpu.next_dispatch_index // f.slots
        if s.stage_begin[g, stage] < 0:
            s.stage_begin[g, stage] = now
        launch = f.launch + s.launch_late[g, gpu.next_dispatch_index]
        gpu.next_dispatch_index += 1
        # Consecutive dispatches keep fractions of a cycle.
        gpu.next_dispatch = max(gpu.next_dispatch, now - 1.0) + f.dispatch_interval
        heap_push(gpu, now + launch, slot * 8 + LAUNCHED)


@compiled
def _launched(s, g, slot, now):
    """Request the first tiles of a workgroup that has started up."""
    f, gpu = s.fixed[0], s.gpu[g]
    if gpu.steps == 0:
        if gpu.dispatch_index[slot] < gpu.tracked_first:
            enter(gpu, slot, AWAITS_L2, now)
            fetch_output(s, g, slot, now)
        else:
            begin_stores(s, g, slot, now)
        return
    for step in range(min(f.prefetch, gpu.steps)):
        fetch(s, g, slot, step, now)
    gpu.waiting[slot] = 1
    enter(gpu, slot, AWAITS_L2, now)


@inlined
def _event(s, g, code, now):
    f, gpu = s.fixed[0], s.gpu[g]
    kind = code & 7
    slot = code >> 3
    if kind == DATA:
        buffer = slot
        slot = buffer // f.prefetch
        gpu.arrived[buffer] = 1
        if gpu.steps == 0:
            begin_stores(s, g, slot, now)
        elif gpu.waiting[slot] and gpu.step[slot] % f.prefetch == buffer % f.prefetch:
            if gpu.from_memory[buffer]:
                gpu.slot_state[slot] = AWAITS_MEMORY  # the whole wait was for the memory
            _try_step(f, gpu, slot, now)
    elif (kind == LAUNCHED or kind == READY) and not has_space(s, g):
        heap_push(gpu, now + 1, code)
    elif kind == LAUNCHED:
        _launched(s, g, slot, now)
    elif kind == READY:
        if gpu.step[slot] + f.prefetch < gpu.steps:
            fetch(s, g, slot, gpu.step[slot] + f.prefetch, now)
        compute(f, gpu, slot, now)
    elif kind == DONE:
        gpu.step[slot] += 1
        if gpu.step[slot] < gpu.steps:
            _try_step(f, gpu, slot, now)
        else:
            enter(gpu, slot, STORES_OUTPUT, now)
            if f.pipe_turns == MAIN_LOOPS:
                end_turn(f, gpu, slot, now)
            hold = s.hold_stores[g, gpu.dispatch_index[slot]]
            heap_push(gpu, now + f.epilogue + hold, slot * 8 + EPILOGUE)
    elif kind == STORE:
        emit(s, g, slot, now)
    else:
        begin_stores(s, g, slot, now)


@inlined
def _is_throttled(f, gpu, limit):
    """Return True if only flow control keeps a workgroup from a free slot."""
    return gpu.free_count > 0 and limit <= gpu.next_dispatch_index < _dispatchable(f, gpu)


@inlined
def next_step(s, g, now, limit):
    """First cycle from ``now`` on with an event of a workgroup."""
    f, gpu = s.fixed[0], s.gpu[g]
    following = gpu.next_dispatch_index
    if gpu.free_count > 0 and following < min(limit, _dispatchable(f, gpu)):
        if s.hold[g, following] > 0 or gpu.next_dispatch <= now:
            return now
        return min(next_event(gpu), np.int64(np.ceil(gpu.next_dispatch)))
    return next_event(gpu)


@inlined
def pass_waiting(s, g, cycles, limit):
    """Count cycles without an event of a workgroup."""
    f, gpu = s.fixed[0], s.gpu[g]
    if _is_throttled(f, gpu, limit):
        gpu.throttled += cycles * gpu.free_count
        s.withheld[g, gpu.next_dispatch_index] += cycles


@inlined
def produce(s, g, now, limit):
    """Advance the workgroups of GPU ``g`` to cycle ``now``; only dispatch indices below ``limit``
    may start."""
    f, gpu = s.fixed[0], s.gpu[g]
    if gpu.free_count > 0 and gpu.next_dispatch_index < gpu.workgroups:
        _dispatch(s, g, now, limit)
        following, end = gpu.next_dispatch_index, _dispatchable(f, gpu)
        if _is_throttled(f, gpu, limit):
            pass_waiting(s, g, 1, limit)
        elif gpu.free_count > 0 and following < end and s.hold[g, following] > 0:
            s.hold[g, following] -= 1
    while next_event(gpu) <= now:
        _event(s, g, heap_pop(gpu), now)
