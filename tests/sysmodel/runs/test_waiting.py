"""Factors of a GEMM's slow-down: flow control, the link behind the stores, the shared memory."""

import pytest

from sysmodel.runs.bounds import bounds
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

SYSTEM = small_system()
_M, _N, _TP = 1024, 768, 4
T3 = ("t3", "t3-mca")


def _run(system, k=128, tp=_TP, configurations=("sequential", *T3)):
    options = RunOptions(engine="golden", channels="all", configurations=configurations)
    return simulate(Plan(workload(_M, _N, k, tp), system, options))


def _with_link(rate, system=SYSTEM):
    """Return a system whose link has some times the rate of the small system's."""
    return scaled(system, link={"bandwidth_gb_per_s": rate * SYSTEM.link.bandwidth_gb_per_s})


def _factors(one):
    return one.gemms["gemm"].waiting, one.gemms["gemm"].link, one.gemms["gemm"].contention


@pytest.mark.parametrize(("window", "waits"), [(16, True), (512, False)])
def test_a_window_of_one_chunk_keeps_the_gemm_waiting(window, waits):
    """A window of one chunk lets the GEMM run no further ahead; a large one never holds it up."""
    result = _run(scaled(SYSTEM, t3={"credit_window_workgroups": window}), k=64)
    for name in T3:
        one = result.configurations[name]
        waiting, link, contention = _factors(one)
        assert waiting * link * contention == pytest.approx(one.gemms["gemm"].slowdown)
        assert (waiting > 1.05) == waits
        assert (one.gemms["gemm"].throttled_ns > 0) == waits
        assert link * contention > 0.97


def test_without_waits_all_is_contention():
    """A fast link holds the stores of a deep GEMM for less than 2 % of the slots' time; so short
    waits are not simulated. The baseline and the ideal have no waits at all."""
    result = _run(_with_link(16), k=2048, configurations=("sequential", "t3", "ideal-overlap"))
    for name, one in result.configurations.items():
        assert _factors(one) == (1, 1, one.gemms["gemm"].slowdown)
        assert one.gemms["gemm"].slots.shares["link"] < (0.02 if name == "t3" else 1e-9)


@pytest.mark.parametrize("tp", [2, *(pytest.param(tp, marks=pytest.mark.verify) for tp in (4, 8))])
def test_a_slow_link_holds_the_first_chunk(tp):
    """The GEMM keeps its slots until the link has taken the first chunk, except for the stores in
    the buffers. A memory of twice the bandwidth does not help."""
    system = _with_link(1 / 16)
    chunk_ns = _M * _N * 2 / tp / system.link.bandwidth_gb_per_s
    twice = scaled(system, dram={"channels": 8}, l2={"slices": 16, "ways": SYSTEM.l2.ways // 2})
    for one_system in (system, twice):
        result = _run(one_system, tp=tp)
        for name in T3:
            one = result.configurations[name]
            waiting, link, contention = _factors(one)
            assert waiting * link * contention == pytest.approx(one.gemms["gemm"].slowdown)
            assert 0.95 * chunk_ns < one.ns["gemm"]
            assert 0.95 < contention < 1.1
            assert link > 1.3
        by = {bound.configuration: bound.by for bound in bounds(result) if bound.phase == "GEMM"}
        assert by["t3"] == "link"


def test_slots_that_wait_for_the_link():
    slow, fast = _run(_with_link(1 / 16)), _run(_with_link(16))
    for name in T3:
        slots = slow.configurations[name].gemms["gemm"].slots
        assert slots.link_ns > slots.stores_ns
        assert sum(vars(slots).values()) == pytest.approx(slow.configurations[name].ns["gemm"])
        assert slots.pipes_ns == pytest.approx(
            fast.configurations[name].gemms["gemm"].slots.pipes_ns, rel=0.05
        )
