"""Times of workgroup slots by state, against closed forms."""

import pytest

from sysmodel.machine.tiling import kernel_of
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from sysmodel.runs.slots import SlotTimes
from tests.support.small_system import scaled, small_system, workload

_M, _N, _K, _GPUS = 1024, 768, 256, 4
# A workgroup alone on its compute unit never waits for another one's step.
_ALONE = scaled(small_system(), gpu={"workgroups_per_cu": 1})


def _run(system, k=_K, configurations=("sequential",)):
    options = RunOptions(engine="golden", configurations=configurations)
    return simulate(Plan(workload(_M, _N, k, _GPUS), system, options))


@pytest.fixture(scope="module")
def alone():
    return _run(_ALONE, configurations=("sequential", "t3"))


@pytest.mark.parametrize("name", ["sequential", "t3"])
def test_they_are_the_gemms_time(alone, name):
    one = alone.configurations[name]
    assert sum(vars(one.gemms["gemm"].slots).values()) == pytest.approx(one.ns["gemm"])
    assert sum(one.gemms["gemm"].slots.shares.values()) == pytest.approx(1.0)
    assert one.gemms["gemm"].slots.empty_ns > one.gemms["gemm"].throttled_ns


@pytest.mark.parametrize("name", ["sequential", "t3"])
def test_time_of_each_workgroup(alone, name):
    system, slots = alone.system, alone.configurations[name].gemms["gemm"].slots
    tiling = kernel_of(system, _M, _N, _K, _GPUS).tiling
    workgroups_of_slot = tiling.workgroups / system.gpu.compute_units
    steps = workgroups_of_slot * _K / tiling.depth_u

    def cu_ns(cycles):
        return cycles / system.gpu.clock_mhz * 1e3

    step_ns = system.matrix_cycles(tiling.step_flops) * system.cycle_ns
    # Each step ends in a whole memory cycle.
    assert steps * step_ns <= slots.pipes_ns <= steps * (step_ns + system.cycle_ns)
    tile_bytes = (tiling.tile_m + tiling.tile_n) * tiling.depth_u * 2
    lds_ns = steps * cu_ns(tile_bytes / system.gpu.lds_bandwidth_bytes_per_cycle)
    assert lds_ns <= slots.lds_ns <= lds_ns + steps * system.cycle_ns
    launch_ns = system.gpu.workgroup_launch_ns + cu_ns(system.kernel.prologue_cycles)
    assert slots.launch_ns == pytest.approx(workgroups_of_slot * launch_ns, rel=0.02)
    assert slots.stores_ns >= workgroups_of_slot * cu_ns(system.kernel.epilogue_cycles)


@pytest.mark.parametrize(
    ("changes", "k", "by"),
    [
        ({"gpu": {"flops_per_cycle_per_cu": 64}}, 256, "pipes"),
        (
            {"gpu": {"flops_per_cycle_per_cu": 16384}, "dram": {"read_latency_ns": 900}},
            2048,
            "memory",
        ),
        ({"gpu": {"workgroup_launch_ns": 20_000}}, 256, "launch"),
        ({"gpu": {"compute_units": 256}}, 256, "empty"),
    ],
)
def test_a_slowed_resource_takes_the_time(changes, k, by):
    result = _run(scaled(_ALONE, **changes), k)
    shares = result.configurations["sequential"].gemms["gemm"].slots.shares
    assert max(shares, key=shares.get) == by


def test_none_is_none():
    assert SlotTimes().shares == {}
