"""Watchdog: slow machines run to their end, and machines that wait for ever are found."""

import pytest

from sysmodel.lib.errors import SimulationError
from sysmodel.machine.machine import Machine
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.until import UNTIL_GEMM, UNTIL_REDUCED
from sysmodel.machine.watchdog import STILL_CYCLES
from tests.support.small_system import scaled, small_system

SYSTEM = small_system()
SLOW = {"compute_units": 1, "clock_mhz": 100.0, "flops_per_cycle_per_cu": 1}


def machine_of(system, *, k=64, gpus=2):
    kernel = kernel_of(system, 128 * gpus, 96, k, gpus)
    return Machine(system, kernel, engine="golden", channels=1, mirror=True, cached_stores=True)


def gemm_cycles(system, k):
    with machine_of(system, k=k) as machine:
        machine.start_kernel()
        machine.run(UNTIL_GEMM)
        return machine.now


def test_a_slow_accelerator_takes_the_time_of_its_operations():
    """A step of 2 x 128 x 96 x 64 operations takes 16 ms, eight times the cycles that a machine of
    short steps may stand still."""
    system = scaled(SYSTEM, gpu=SLOW)
    step_ns = 2 * 128 * 96 * 64 / (0.1 * 0.94)
    assert system.cycles(step_ns) > 8 * STILL_CYCLES
    took_ns = gemm_cycles(system, 128) * system.cycle_ns
    # Two workgroups of two steps each on the only CU.
    assert took_ns == pytest.approx(4 * step_ns, rel=0.001)


@pytest.mark.parametrize(
    "section,values",
    [
        ("gpu", {"kernel_launch_ns": 1e7}),
        ("gpu", {"workgroup_launch_ns": 1e7}),
        ("gpu", {"dispatch_interval_ns": 1e7, "compute_units": 1}),
        ("kernel", {"prologue_cycles": 14_000_000}),
        ("kernel", {"epilogue_cycles": 14_000_000}),
        ("l2", {"latency_ns": 1e7}),
    ],
)
def test_a_step_of_ten_milliseconds_is_no_hang(section, values):
    system = scaled(SYSTEM, **{section: values})
    extra = gemm_cycles(system, 64) - gemm_cycles(SYSTEM, 64)
    assert extra == pytest.approx(system.cycles(1e7), rel=0.001)


def test_a_hang_is_found_soon():
    """Without a program the hardware never reduces."""
    with machine_of(SYSTEM) as machine:
        machine.start_kernel()
        with pytest.raises(SimulationError, match=r"nothing has moved for .* 2 of 2 workgroups"):
            machine.run(UNTIL_REDUCED)
        assert machine.now < 1.1 * STILL_CYCLES


def test_a_hang_is_found_soon_after_the_last_event():
    """The kernel that never ends begins after 10 ms; it waits for a limit that stays 0."""
    with machine_of(scaled(SYSTEM, gpu={"kernel_launch_ns": 1e7})) as machine:
        machine.state.kernel["flow"] = 1
        machine.start_kernel()
        with pytest.raises(SimulationError, match=r"nothing has moved for .* 0 of 2 workgroups"):
            machine.run(UNTIL_GEMM)
        assert 1e7 < machine.now < 1e7 + 1.1 * STILL_CYCLES
