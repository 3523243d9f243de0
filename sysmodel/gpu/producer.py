"""GEMMs on the compute units: workgroups that fetch, wait, compute and store.

The kernels of a GPU form a queue. A free slot goes to the first kernel in the queue that may
dispatch a workgroup; a kernel's workgroups are dispatched in order. A workgroup fetches the A and
B tiles of each depth-U step through the L2, ``prefetch`` steps ahead, writes them into its LDS
buffer, and computes on its CU's matrix pipe. After the last step it stores its output tile; the
slot becomes free when the last store has left the CU. Only other workgroups of the same CU hide a
workgroup's waiting.

Time is in memory-clock cycles. ``s`` is the state of ``state.py``, ``g`` a GPU, ``k`` a kernel's
number in the queue.
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
def _try_step(f, gpu, kernel, slot, now):
    """Move the awaited step's tiles into the LDS if they have arrived."""
    if gpu.arrived[slot * f.buffers + gpu.step[slot] % kernel.prefetch]:
        gpu.waiting[slot] = 0
        enter(gpu, slot, FILLS_LDS, now)
        heap_push(gpu, now + kernel.lds, slot * 8 + READY)
    else:
        gpu.waiting[slot] = 1
        enter(gpu, slot, AWAITS_L2, now)


@inlined
def _dispatchable(f, kernel):
    """Limit of the dispatcher: all dispatch indices, or those up to the first unfinished stage."""
    if not f.by_stage:
        return kernel.end
    return min(kernel.end, (kernel.finished // f.slots + 1) * f.slots)


@inlined
def _occupy(s, g, k, now):
    """Dispatch the next workgroup of a kernel to the slot that has been free for longest."""
    f, gpu, kernel = s.fixed[0], s.gpu[g], s.kernel[g, k]
    slot, index = gpu.free_ring[gpu.free_head], kernel.next_dispatch_index
    gpu.free_head = (gpu.free_head + 1) % f.slots
    gpu.free_count -= 1
    gpu.slot_kernel[slot] = k
    gpu.dispatch_index[slot] = index
    gpu.turn[slot] = gpu.dispatched
    gpu.step[slot] = 0
    gpu.waiting[slot] = 0
    gpu.wants_pipe[slot] = 1
    enter(gpu, slot, STARTS, now)
    stage = kernel.first_stage + index // f.slots
    if s.stage_begin[g, stage] < 0:
        s.stage_begin[g, stage] = now
    launch = kernel.launch + s.launch_late[g, kernel.first_row + index]
    kernel.next_dispatch_index += 1
    gpu.dispatched += 1
    # Consecutive dispatches keep fractions of a cycle.
    gpu.next_dispatch = max(gpu.next_dispatch, now - 1.0) + f.dispatch_interval
    heap_push(gpu, now + launch, slot * 8 + LAUNCHED)


@compiled
def _dispatch(s, g, k, now):
    """Give free slots to workgroups of a kernel that has begun; return True if only flow control
    keeps the next one from a slot that is still free."""
    f, gpu, kernel = s.fixed[0], s.gpu[g], s.kernel[g, k]
    end = _dispatchable(f, kernel)
    while (
        gpu.free_count > 0
        and kernel.next_dispatch_index < min(kernel.limit, end)
        and gpu.next_dispatch <= now
        and s.hold[g, kernel.first_row + kernel.next_dispatch_index] == 0
    ):
        _occupy(s, g, k, now)
    following = kernel.next_dispatch_index
    if gpu.free_count == 0 or following >= end:
        return False
    place = kernel.first_row + following
    if kernel.limit <= following:
        s.withheld[g, place] += 1
        return True
    if s.hold[g, place] > 0:
        s.hold[g, place] -= 1
    return False


@compiled
def _launched(s, g, slot, now):
    """Request the first tiles of a workgroup that has started up."""
    gpu = s.gpu[g]
    kernel = s.kernel[g, gpu.slot_kernel[slot]]
    if kernel.steps == 0:
        if gpu.dispatch_index[slot] < kernel.tracked_first:
            enter(gpu, slot, AWAITS_L2, now)
            fetch_output(s, g, slot, now)
        else:
            begin_stores(s, g, slot, now)
        return
    for step in range(min(kernel.prefetch, kernel.steps)):
        fetch(s, g, slot, step, now)
    gpu.waiting[slot] = 1
    enter(gpu, slot, AWAITS_L2, now)


@inlined
def _arrived(s, g, kernel, slot, buffer, now):
    """Note the arrival of a buffer's data, and continue the workgroup if it waits for them."""
    f, gpu = s.fixed[0], s.gpu[g]
    gpu.arrived[buffer] = 1
    if kernel.steps == 0:
        begin_stores(s, g, slot, now)
    elif gpu.waiting[slot] and slot * f.buffers + gpu.step[slot] % kernel.prefetch == buffer:
        if gpu.from_memory[buffer]:
            gpu.slot_state[slot] = AWAITS_MEMORY  # the whole wait was for the memory
        _try_step(f, gpu, kernel, slot, now)


@inlined
def _event(s, g, code, now):
    f, gpu = s.fixed[0], s.gpu[g]
    kind = code & 7
    slot = code >> 3
    if kind == DATA:
        slot //= f.buffers
    kernel = s.kernel[g, gpu.slot_kernel[slot]]
    if kind == DATA:
        _arrived(s, g, kernel, slot, code >> 3, now)
    elif (kind == LAUNCHED or kind == READY) and not has_space(s, g, kernel):
        heap_push(gpu, now + 1, code)
    elif kind == LAUNCHED:
        _launched(s, g, slot, now)
    elif kind == READY:
        if gpu.step[slot] + kernel.prefetch < kernel.steps:
            fetch(s, g, slot, gpu.step[slot] + kernel.prefetch, now)
        compute(s, g, slot, now)
    elif kind == DONE:
        gpu.step[slot] += 1
        if gpu.step[slot] < kernel.steps:
            _try_step(f, gpu, kernel, slot, now)
        else:
            enter(gpu, slot, STORES_OUTPUT, now)
            if f.pipe_turns == MAIN_LOOPS:
                end_turn(s, g, slot, now)
            hold = s.hold_stores[g, kernel.first_row + gpu.dispatch_index[slot]]
            heap_push(gpu, now + kernel.epilogue + hold, slot * 8 + EPILOGUE)
    elif kind == STORE:
        emit(s, g, slot, now)
    else:
        begin_stores(s, g, slot, now)


@inlined
def next_step(s, g, now):
    """First cycle from ``now`` on with an event of a workgroup or a dispatch."""
    f, gpu = s.fixed[0], s.gpu[g]
    at = next_event(gpu)
    if gpu.free_count == 0:
        return at
    for k in range(f.kernels):
        kernel = s.kernel[g, k]
        following = kernel.next_dispatch_index
        if following < kernel.end and now < kernel.start:
            at = min(at, kernel.start)
        elif following < min(kernel.limit, _dispatchable(f, kernel)):
            if s.hold[g, kernel.first_row + following] > 0 or gpu.next_dispatch <= now:
                return now
            at = min(at, np.int64(np.ceil(gpu.next_dispatch)))
    return at


@inlined
def pass_waiting(s, g, now, cycles):
    """Count cycles from ``now`` on without an event of a workgroup."""
    f, gpu = s.fixed[0], s.gpu[g]
    if gpu.free_count == 0:
        return
    throttled = False
    for k in range(f.kernels):
        kernel = s.kernel[g, k]
        following = kernel.next_dispatch_index
        if now >= kernel.start and kernel.limit <= following < _dispatchable(f, kernel):
            s.withheld[g, kernel.first_row + following] += cycles
            throttled = True
    if throttled:
        gpu.throttled += cycles * gpu.free_count


@inlined
def produce(s, g, now):
    """Advance the workgroups of GPU ``g`` to cycle ``now``."""
    f, gpu = s.fixed[0], s.gpu[g]
    if gpu.free_count > 0:
        throttled = False
        for k in range(f.kernels):
            kernel = s.kernel[g, k]
            if kernel.next_dispatch_index < kernel.end and now >= kernel.start:
                throttled |= _dispatch(s, g, k, now)
        if throttled:
            gpu.throttled += gpu.free_count
    while next_event(gpu) <= now:
        _event(s, g, heap_pop(gpu), now)
