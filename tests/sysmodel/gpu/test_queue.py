"""Kernels in a queue on the same compute units, against a memory that answers at once."""

import numpy as np
import pytest

from sysmodel.gpu.fetch import buffer_progress
from sysmodel.gpu.pipe import STEPS, TILES
from sysmodel.gpu.producer import produce
from sysmodel.gpu.stores import pop_store
from sysmodel.gpu.workgroups import (
    MODE_GEMM,
    REQUESTS,
    ComputeUnits,
    KernelTimes,
    PlacedKernel,
    set_up_kernel,
    set_up_units,
)
from sysmodel.lib.compiled import cached_njit
from tests.support.small_kernel import bare_state, small_kernel

NO_LIMIT = 1 << 40
LATENCY = 1


@cached_njit()
def _drive(s, start, end):
    """Run GPU 0 until all kernels have dispatched and ended their workgroups; return the cycle."""
    f, gpu, channel = s.fixed[0], s.gpu[0], s.channel[0]
    for now in range(start, end):
        produce(s, 0, now)
        while channel.request_count > 0:
            token = np.int64(channel.request_token[channel.request_head])
            channel.request_head = (channel.request_head + 1) & (REQUESTS - 1)
            channel.request_count -= 1
            buffer_progress(gpu, token, -1, now + LATENCY, 1)
        while channel.store_count > 0:
            pop_store(s, 0, channel, now)
        running = 0
        for k in range(f.kernels):
            kernel = s.kernel[0, k]
            if kernel.finished < kernel.end:
                running += 1
            elif kernel.finish_cycle < 0:
                kernel.finish_cycle = now
        if running == 0:
            return now + 1
    return end


class Queue:
    """Kernels with steps of ``step`` cycles, on CUs with one workgroup slot unless given."""

    def __init__(self, *kernels, steps=(), step=20.0, launch=10, **units):
        first, *behind = kernels
        self.state, _ = bare_state(first, behind=behind)
        units = dict(
            cus=4, workgroups_per_cu=1, store_buffer=0, dispatch_interval_cycles=0.0,
            by_stage=False, pipe_turns=STEPS,
        ) | units  # fmt: skip
        set_up_units(self.state, ComputeUnits(**units))
        row = 0
        for number, kernel in enumerate(kernels):
            placed = PlacedKernel(
                tiling=kernel.tiling,
                output_atoms=kernel.output_atoms(1, 3, 1),
                prefetch=kernel.tiling.prefetch_depth,
                mode=MODE_GEMM,
                number=number,
                first_row=row,
                first_stage=row,
            )
            cycles = steps[number] if steps else step
            times = KernelTimes(step=cycles, launch=launch, lds=0, epilogue=0, fetch=0, store=0)
            set_up_kernel(self.state, placed, times)
            row += kernel.workgroups
        self.kernel = self.state.kernel[0]
        self.kernel["limit"] = NO_LIMIT
        self.now = 0

    def run(self, cycles=100_000):
        self.now = _drive(self.state, self.now, self.now + cycles)
        return self

    @property
    def finish(self):
        return self.kernel["finish_cycle"].tolist()

    def begin(self, number):
        """Cycle in which each workgroup of a kernel is dispatched, with a slot for each CU."""
        first, stages = self.kernel["first_stage"][number], self.kernel["workgroups"][number]
        found = self.state.stage_begin[0, first : first + stages]
        return found[found >= 0].tolist()


def tiles(count, *, k=64, **tiling):
    """A kernel of ``count`` workgroups of k/16 steps."""
    return small_kernel(m=64 * count, n=8, k=k, gpus=1, **tiling)


# Launch, data, four steps; the slot is given away in the next cycle.
STAGE = 10 + LATENCY + 4 * 20 + 1


@pytest.mark.parametrize("first,second", [(6, 6), (5, 9), (4, 4), (3, 1), (1, 7), (9, 3)])
def test_the_second_kernel_fills_the_last_stage_of_the_first(first, second):
    alone = Queue(tiles(first)).run()
    both = Queue(tiles(first), tiles(second)).run()
    assert alone.finish == [-(-first // 4) * STAGE - 1]
    assert both.finish == [*alone.finish, -(-(first + second) // 4) * STAGE - 1]


def test_a_kernel_has_its_own_times():
    """The second has one slot for four workgroups, then also those of the slow first kernel."""
    queue = Queue(tiles(3), tiles(5), steps=(80.0, 20.0)).run()
    slow = 10 + LATENCY + 4 * 80
    assert queue.finish == [slow, slow + STAGE]


def test_kernels_of_different_depths_prefetch_their_own_steps():
    """The memory answers at once, so that every kernel takes the time of its steps."""
    shallow, deep = tiles(1, k=160), tiles(1, k=160, prefetch_depth=4)
    queue = Queue(shallow, deep, shallow).run()
    assert queue.finish == [10 + LATENCY + 10 * 20] * 3
    assert queue.state.fixed["buffers"] == 4


def test_a_gated_kernel_holds_no_slot():
    queue = Queue(tiles(8), tiles(8))
    queue.kernel["limit"][0] = 0
    queue.run(2 * STAGE)
    assert queue.kernel["next_dispatch_index"].tolist() == [0, 8]
    assert queue.finish == [-1, 2 * STAGE - 1]
    # The slots would suffice within two cycles, but none stayed empty.
    assert queue.state.withheld[0, 0] == 2
    assert queue.state.gpu["throttled"][0] == 0
    queue.kernel["limit"][0] = NO_LIMIT
    assert queue.run().finish == [4 * STAGE - 1, 2 * STAGE - 1]


def test_a_limited_kernel_leaves_the_other_slots():
    """The first may have one workgroup after the other: the second has the other three slots."""
    queue = Queue(tiles(2), tiles(6))
    queue.kernel["limit"][0] = 1
    queue.run(STAGE - 1)
    assert queue.kernel["next_dispatch_index"].tolist() == [1, 3]
    queue.kernel["limit"][0] = 2
    queue.run()
    assert queue.finish == [2 * STAGE - 1, 2 * STAGE - 1]


def test_a_later_start_finds_the_slots_that_are_free_then():
    queue = Queue(tiles(2), tiles(4))
    queue.kernel["start"][1] = 30
    assert queue.run().finish == [STAGE - 1, 2 * STAGE - 1]
    assert queue.begin(1) == [30]


def test_the_earlier_kernel_has_freed_slots_first():
    """The earlier kernel starts when the later one holds all slots, and gets each freed slot."""
    queue = Queue(tiles(4), tiles(8))
    queue.kernel["start"][0] = 5
    assert queue.run().finish == [2 * STAGE - 1, 3 * STAGE - 1]


def test_stages_are_those_of_each_kernel():
    """A stage waits for the stage before of its own kernel, not for the other kernel."""
    queue = Queue(tiles(6), tiles(6), by_stage=True).run()
    assert queue.begin(0) == [0, STAGE]
    # Two workgroups of the first stage begin beside the first kernel's last ones, and two later.
    assert queue.begin(1) == [STAGE, 3 * STAGE]
    assert queue.finish == [2 * STAGE - 1, 4 * STAGE - 1]


def test_turns_on_the_pipe_follow_the_dispatch():
    """On one CU of two slots, the first kernel's only workgroup was dispatched first."""
    queue = Queue(tiles(1), tiles(1), cus=1, workgroups_per_cu=2, pipe_turns=TILES).run()
    assert queue.finish == [STAGE - 1, STAGE - 1 + 4 * 20]
    other = Queue(tiles(1), tiles(1), cus=1, workgroups_per_cu=2, pipe_turns=TILES)
    other.kernel["start"][0] = 1  # now the second kernel's workgroup was dispatched first
    assert other.run().finish == [STAGE - 1 + 4 * 20, STAGE - 1]


def test_an_aborted_kernel_ends_with_the_workgroups_that_have_a_slot():
    queue = Queue(tiles(8), tiles(4))
    queue.run(3)
    queue.kernel["end"][0] = queue.kernel["next_dispatch_index"][0]
    assert queue.run().finish == [STAGE - 1, 2 * STAGE - 1]
    assert queue.kernel["finished"].tolist() == [4, 4]
