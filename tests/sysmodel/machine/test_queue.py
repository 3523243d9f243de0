"""Kernels in a queue on one machine: the same compute units, L2 and memory."""

import numpy as np
import pytest

from sysmodel.gpu.address_spaces import gemm_space
from sysmodel.gpu.kernel import Kernel
from sysmodel.machine.machine import Machine
from sysmodel.machine.program import stage_cycles
from sysmodel.machine.queue import Queued
from sysmodel.machine.tiling import apart, kernel_of
from sysmodel.machine.until import UNTIL_GEMM, UNTIL_REDUCED
from tests.support.small_system import scaled, small_system

# Long steps, so that the matrix pipes bind.
SYSTEM = scaled(small_system(), gpu={"flops_per_cycle_per_cu": 64})
SLOTS = SYSTEM.gpu.compute_units * SYSTEM.gpu.workgroups_per_cu
LARGER, SMALLER = 3 * SLOTS // 2, SLOTS // 2


def kernels(*workgroups: int, k: int = 512) -> tuple[Kernel, ...]:
    tile = SYSTEM.kernel
    return apart([kernel_of(SYSTEM, tile.tile_m * n, tile.tile_n, k, 2) for n in workgroups])


def machine_of(kernel, *behind, system=SYSTEM, cached_stores=True, **options):
    return Machine(
        system,
        kernel,
        behind=behind,
        engine="golden",
        channels=SYSTEM.dram.channels,
        mirror=False,
        cached_stores=cached_stores,
        **options,
    )


def finish(*queue, system=SYSTEM):
    """Cycles from the start to each kernel's end on GPU 0, and the reads of all GPUs."""
    with machine_of(*queue, system=system) as machine:
        machine.start_kernel()
        begun = int(machine.state.kernel["start"].max())
        machine.run(UNTIL_GEMM)
        reads = int(machine.state.gpu["reads"].sum())
        return machine.state.kernel["finish_cycle"][0] - begun, reads


@pytest.mark.parametrize("context", [0, 1])
@pytest.mark.parametrize("per_cu", [1, 2])
def test_two_kernels_take_the_time_of_their_stages(per_cu, context):
    """A kernel fills one and a half stages; three stages hold both.

    A stage takes a little longer than its time on the matrix pipes: launch, LDS and stores.
    """
    system = scaled(SYSTEM, gpu={"workgroups_per_cu": per_cu})
    workgroups = 3 * SYSTEM.gpu.compute_units * per_cu // 2
    first, second = kernels(workgroups, workgroups)
    (alone,), alone_reads = finish(first, system=system)
    (first_end, second_end), reads = finish(first, Queued(second, context), system=system)
    stage = stage_cycles(first.tiling, system)
    assert second_end == pytest.approx(3 * stage, rel=0.06)
    assert second_end - first_end == pytest.approx(stage, rel=0.07)
    # In its last half stage, the first kernel shares the matrix pipe of a CU with two slots.
    assert alone == pytest.approx((2 if per_cu == 1 else 1.5) * stage, rel=0.06)
    assert first_end == pytest.approx(2 * stage, rel=0.06)
    if per_cu == 1:
        assert alone <= first_end <= 1.02 * alone
    assert reads == pytest.approx(2 * alone_reads, rel=0.02)


def test_a_gated_kernel_holds_no_slot():
    """The second kernel takes the time that it takes alone."""
    first, second = kernels(LARGER, LARGER)
    (alone,), _ = finish(second)
    with machine_of(first, Queued(second, 1)) as machine:
        machine.state.kernel["flow"][:, 0] = 1  # no launch: the limit stays 0
        machine.start_kernel()
        machine.idle(int(machine.state.kernel["start"].max()) + int(alone) + 1)
        assert (machine.state.kernel["next_dispatch_index"] == [0, LARGER]).all()
        ended = machine.state.kernel["finish_cycle"] - machine.state.kernel["start"]
        assert ended[0, 1] == alone
        assert (machine.state.kernel["finish_cycle"][:, 0] == -1).all()


def test_a_kernel_begins_when_it_is_started():
    first, second = kernels(SMALLER, SMALLER)
    with machine_of(first, Queued(second)) as machine:
        machine.start_kernel(number=0)
        machine.run(UNTIL_GEMM)
        assert (machine.state.kernel["finished"] == [SMALLER, 0]).all()
        machine.start_kernel(number=1)
        begun = int(machine.state.kernel["start"].max())
        machine.run(UNTIL_GEMM)
        assert (machine.state.kernel["finished"] == SMALLER).all()
        assert machine.state.stage_begin[:, 1].tolist() == [begun] * 2


def test_the_operands_of_one_kernel_are_hits_of_the_next():
    """Two kernels of the same operands have one L2."""
    (kernel,) = kernels(SMALLER)
    _, once = finish(kernel)
    _, twice = finish(kernel, Queued(kernel))
    assert once <= twice <= 1.05 * once


def test_a_kernel_behind_a_tracked_one_writes_its_own_result():
    """The hardware reduces the first kernel's output; the second's is stored as it is."""
    first, second = kernels(LARGER, LARGER, k=64)
    base = first.output_atom
    random = np.random.default_rng(1)
    shape = 2, second.output_end - base, 4
    partial = random.integers(0, 1 << 63, shape).astype(np.uint64)
    partial &= np.uint64(0x3FFF_3FFF_3FFF_3FFF)  # no infinities
    with machine_of(first, Queued(second), cached_stores=False, partial=partial) as machine:
        writes = [machine.map_writes(g, address_space=gemm_space(0)) for g in range(2)]
        machine.launch(writes)
        machine.run(UNTIL_REDUCED)
        assert (machine.state.context["done_cycle"] >= 0).all()
        stored = machine.state.stored
    own = slice(second.output_atom - base, None)
    assert np.array_equal(stored[:, own], partial[:, own])
    reduced = slice(0, first.output_end - base)
    assert not np.array_equal(stored[:, reduced], partial[:, reduced])


def test_overlapping_outputs_of_different_contexts_are_refused():
    (kernel,) = kernels(SMALLER)
    with pytest.raises(ValueError, match="the outputs of contexts 0 and 1 overlap"):
        machine_of(kernel, Queued(kernel, 1))


def test_a_context_without_a_kernel_is_refused():
    first, second = kernels(SMALLER, SMALLER)
    with pytest.raises(ValueError, match="no kernel belongs to context 1"):
        machine_of(first, Queued(second, 2))
