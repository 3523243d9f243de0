"""Tile traces: the events of tiles on their way around the ring, and their order."""

import pytest

from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import small_system, workload

_GPUS = 4


@pytest.fixture(scope="module", params=["mirror", "all"])
def finished(request):
    options = RunOptions(engine="golden", gpus=request.param, configurations=("sequential", "t3"))
    return simulate(Plan(workload(1024, 768, 256, _GPUS), small_system(), options))


@pytest.fixture
def stops(finished):
    """Events at each stop of each trace: names and spans."""
    tracks = {}
    for span in finished.timelines["t3"].spans:
        if span.track.startswith("tile"):
            tracks.setdefault(span.track, {})[span.name] = span
    traces = {}
    for track, seen in tracks.items():
        workgroup, gpu = track.removeprefix("tile of workgroup ").split(", GPU ")
        traces.setdefault(int(workgroup), {})[int(gpu)] = seen
    return traces


def test_a_few_tiles_go_by_every_gpu(stops):
    assert len(stops) == 3
    for trace in stops.values():
        assert sorted(trace) == list(range(_GPUS))


def test_every_gpu_but_the_first_adds_to_what_comes_in_and_all_but_the_last_send(stops):
    for trace in stops.values():
        first, *between, last = (set(trace[gpu]) for gpu in range(_GPUS))
        assert first == {"sent"}
        assert between == [{"stored", "arrives", "sent"}] * (_GPUS - 2)
        assert last == {"stored", "arrives"}


def test_packets_arrive_a_latency_later(finished, stops):
    system = finished.system
    latency_ns = system.cycles(system.link.latency_ns) * system.cycle_ns
    for trace in stops.values():
        for gpu in range(_GPUS - 1):
            sent, arrives = trace[gpu]["sent"], trace[gpu + 1]["arrives"]
            assert arrives.start_ns - sent.start_ns >= latency_ns - 1e-6
            assert arrives.end_ns - sent.end_ns >= latency_ns - 1e-6
            # Nothing holds a packet up for long in so small a ring.
            assert arrives.end_ns - sent.end_ns < 2 * latency_ns


def test_nothing_is_sent_before_the_tile_is_complete(stops):
    for trace in stops.values():
        for gpu in range(1, _GPUS - 1):
            seen = trace[gpu]
            complete_ns = max(seen["stored"].end_ns, seen["arrives"].end_ns)
            assert seen["sent"].start_ns > complete_ns


def test_arrows_follow_the_tile(finished):
    flows = finished.timelines["t3"].flows
    names = [flow.name for flow in flows]
    assert names.count("on the link") == 3 * (_GPUS - 1)
    assert names.count("complete") == 3 * (_GPUS - 2)
    for flow in flows:
        assert flow.effect.start_ns > flow.cause.start_ns


def test_kernels_on_the_compute_units_have_no_tiles_to_follow(finished):
    assert not finished.timelines["sequential"].flows
