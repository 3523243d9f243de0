"""Costs of a library's collectives: fixed, in each step, and by the protocol for small chunks."""

import pytest

from sysmodel.config.library import LowLatencyProtocol
from sysmodel.config.system import load_system, system_on
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.run_network import RunNetwork
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

_GPUS = 4
_WORKLOAD = workload(1024, 768, 64, _GPUS)
_CHUNK_KIB = 1024 * 768 * 2 / _GPUS / 1024
_SYSTEM = small_system()
_NS = 2 * _SYSTEM.cycle_ns  # costs and times are whole cycles


def _simulated(system):
    options = RunOptions(engine="golden", configurations=("sequential",))
    return simulate(Plan(_WORKLOAD, system, options)).configurations["sequential"]


def _sequential(**collective):
    return _simulated(scaled(_SYSTEM, collective=collective))


@pytest.fixture(scope="module")
def free():
    return _sequential()


def _low_latency(**values):
    none = {"reduce_scatter_ns": 0.0, "all_gather_ns": 0.0, "step_ns": 0.0, "payload_share": 1.0}
    return {"low_latency": LowLatencyProtocol(**none | values)}


@pytest.mark.parametrize("most_chunk_kib", [_CHUNK_KIB, _CHUNK_KIB - 1])
def test_chunks_up_to_a_size_take_the_costs_of_the_low_latency_protocol(free, most_chunk_kib):
    costs = {"reduce_scatter_ns": 1000.0, "all_gather_ns": 3000.0, "step_ns": 500.0}
    lower = {"reduce_scatter_ns": 100.0, "all_gather_ns": 200.0, "step_ns": 50.0}
    found = _sequential(**costs, **_low_latency(most_chunk_kib=most_chunk_kib, **lower))
    paid = lower if most_chunk_kib >= _CHUNK_KIB else costs
    steps_ns = (_GPUS - 1) * paid["step_ns"]
    rs_ns, ag_ns = found.ns["rs"] - free.ns["rs"], found.ns["ag"] - free.ns["ag"]
    assert rs_ns == pytest.approx(paid["reduce_scatter_ns"] + steps_ns, abs=5 * _NS)
    assert ag_ns == pytest.approx(paid["all_gather_ns"] + steps_ns, abs=5 * _NS)
    assert found.ns["gemm"] == free.ns["gemm"]


def test_flags_take_their_share_of_the_line(free):
    """A link of twice the rate carries plain stores and as many flags in the same time."""
    doubled = scaled(
        _SYSTEM,
        link={"bandwidth_gb_per_s": 2 * _SYSTEM.link.bandwidth_gb_per_s},
        # Dear plain stores: else the library would take them, in half the time.
        collective=_low_latency(most_chunk_kib=_CHUNK_KIB, payload_share=0.5)
        | {"reduce_scatter_ns": 1e6},
    )
    found = _simulated(doubled)
    assert (found.ns["rs"], found.ns["ag"]) == (free.ns["rs"], free.ns["ag"])
    assert found.link_bytes.total == 2 * free.link_bytes.total


@pytest.mark.parametrize("gpus", [2, 8, 14, 15, 72])
@pytest.mark.parametrize("slower", [1, 30])
@pytest.mark.parametrize("chunk_kib", [1, 32, 512, 513])
@pytest.mark.parametrize("of_topology", [False, True])
def test_the_low_latency_protocol_is_taken_up_to_its_chunk_where_it_is_the_faster(
    gpus, slower, chunk_kib, of_topology
):
    """On h200, the fixed costs of an all-reduce are 40 and 7.5 µs, and its flags take 45 %."""
    base, rate_gb_per_s = load_system("h200"), 450 / slower
    if of_topology:
        system = system_on(base, {"base": "switch", "link.port_gb_per_s": rate_gb_per_s})
    else:
        system = scaled(base, link={"bandwidth_gb_per_s": rate_gb_per_s})
    plain_us = chunk_kib * 1.024 / (450 / slower * 0.81) * 2 * (gpus - 1)
    flagged = chunk_kib <= 512 and 7.5 + plain_us / 0.55 <= 40 + plain_us
    found = RunNetwork(system, gpus).protocol(1024 * chunk_kib)
    assert found == (system.collective.low_latency if flagged else system.collective)
    assert found.share_of_stores == (0.55 if flagged else 1)


def test_collectives_run_on_as_many_cus_as_the_library_takes():
    """On a fast link, the port of one CU is the limit; 8 CUs are all that the GPU has."""
    fast = scaled(
        _SYSTEM,
        link={"bandwidth_gb_per_s": 10_000.0},
        gpu={"cu_bandwidth_bytes_per_cycle": 8},
    )
    one, all_cus, more = (
        _simulated(scaled(fast, collective={"most_compute_units": cus})) for cus in (1, 8, 1024)
    )
    port_gb_per_s = 8 * _SYSTEM.gpu.clock_mhz / 1e3
    assert one.ns["ag"] > _WORKLOAD.output_bytes * (_GPUS - 1) / _GPUS / port_gb_per_s
    assert all_cus.ns["ag"] < one.ns["ag"] / 2
    assert more == all_cus
