"""States of the link in a collective, against closed forms."""

import pytest

from sysmodel.runs.bounds import bounds
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

_M, _N, _K, _GPUS = 1024, 768, 128, 4
_SENT_BYTES = _M * _N * 2 * (_GPUS - 1) / _GPUS
_NAMES = ("sequential", "t3")
_SAMPLE_NS = 1000.0  # time that the samples of a small run may miss at either end


def _found(channels="auto", **changes):
    system = scaled(small_system(), **changes)
    options = RunOptions(engine="golden", configurations=_NAMES, channels=channels)
    result = simulate(Plan(workload(_M, _N, _K, _GPUS), system, options))
    return system, {(one.configuration, one.phase): one for one in bounds(result)}


def _times(bound):
    return {
        what: share * (bound.end_ns - bound.start_ns) for what, share in bound.link_time.items()
    }


def test_they_are_all_the_time():
    for one in _found()[1].values():
        assert sum(_times(one).values()) == pytest.approx(one.end_ns - one.start_ns, abs=_SAMPLE_NS)


@pytest.mark.parametrize(
    ("name", "phase"), [("sequential", "RS"), ("sequential", "AG"), ("t3", "AG")]
)
def test_a_slow_link(name, phase):
    system, found = _found(link={"bandwidth_gb_per_s": 2.0})
    one = found[name, phase]
    assert one.by == "link"
    sending_ns = _SENT_BYTES / system.link.bandwidth_gb_per_s
    assert _times(one)["link"] == pytest.approx(sending_ns, rel=0.01)


@pytest.mark.parametrize(
    ("name", "phase"), [("sequential", "RS"), ("sequential", "AG"), ("t3", "AG")]
)
def test_channels_that_share_a_link(name, phase):
    """A channel without a packet waits for nothing else while others' packets have the rate."""
    system, found = _found("all", link={"bandwidth_gb_per_s": 6.0})
    one = found[name, phase]
    assert one.by == "link"
    sending_ns = _SENT_BYTES / system.link.bandwidth_gb_per_s
    assert _times(one)["link"] == pytest.approx(sending_ns, rel=0.01)


@pytest.mark.parametrize("name", _NAMES)
def test_a_long_link(name):
    latency_ns = 15_000.0
    _, found = _found(link={"latency_ns": latency_ns, "bandwidth_gb_per_s": 30.0})
    one = found[name, "AG"]
    assert one.by == "latency"
    # In each step the last packet is on its way so long, after all are sent.
    steps_ns = (_GPUS - 1) * latency_ns
    assert _times(one)["latency"] == pytest.approx(steps_ns, rel=0.01)


@pytest.mark.parametrize("latency_ns", [20_000.0, 1_000_000.0])
def test_a_link_through_hosts(latency_ns):
    """Each of the baseline's 2 x 3 steps waits for the latency once."""
    totals = []
    for one_ns in (500.0, latency_ns):
        system = scaled(small_system(), link={"latency_ns": one_ns})
        options = RunOptions(engine="golden", configurations=_NAMES)
        result = simulate(Plan(workload(_M, _N, _K, _GPUS), system, options))
        totals.append({name: one.total_ns for name, one in result.configurations.items()})
    longer_ns = {name: totals[1][name] - totals[0][name] for name in _NAMES}
    steps_ns = 2 * (_GPUS - 1) * (latency_ns - 500.0)
    assert longer_ns["sequential"] == pytest.approx(steps_ns, rel=0.02)
    assert 0.5 * steps_ns < longer_ns["t3"] < 1.02 * steps_ns


@pytest.mark.parametrize("name", _NAMES)
def test_a_late_kernel(name):
    launch_ns = 100_000.0
    one = _found(gpu={"kernel_launch_ns": launch_ns})[1][name, "AG"]
    assert one.by == "idle"
    assert _times(one)["idle"] == pytest.approx(launch_ns, abs=_SAMPLE_NS)


_FAST = {"bandwidth_gb_per_s": 2000.0, "latency_ns": 10.0}


@pytest.mark.parametrize("name", _NAMES)
def test_a_fast_link(name):
    assert _found(link=_FAST)[1][name, "AG"].by == "memory"


def test_a_full_receiver():
    """A fast link brings updates while the GEMM keeps the receiver's memory busy."""
    found = _found(link=_FAST)[1]
    assert found["t3", "GEMM"].link_time["receiver"] > 0.05
    assert found["t3", "AG"].link_time["receiver"] == 0


def test_narrow_ports():
    """All loads of a reduce-scatter and all its stores pass a compute unit's port."""
    bytes_per_cycle = 1.0
    narrow = {"compute_units": 2, "cu_bandwidth_bytes_per_cycle": bytes_per_cycle}
    system, found = _found(link=_FAST, gpu=narrow)
    one = found["sequential", "RS"]
    assert one.by == "ports"
    loaded_bytes = _SENT_BYTES / (_GPUS - 1) * (2 * _GPUS - 1)
    port_ns = loaded_bytes / (2 * bytes_per_cycle * system.gpu.clock_mhz / 1e3)
    assert port_ns <= one.end_ns - one.start_ns <= 1.5 * port_ns
