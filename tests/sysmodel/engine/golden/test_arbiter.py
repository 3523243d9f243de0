"""The golden arbiter's policies and its measurement."""

import pytest
from golden_state import fresh_state

from rtl.interface.encodings import Policy
from sysmodel.engine.golden.arbitration import ANY, arbitrate, measure


def choices(state, candidates, room=True):
    return [
        arbitrate(state.config["arbiter"], state.channels[0], bool(c), bool(m), room)
        for c, m in candidates
    ]


def test_round_robin():
    assert choices(fresh_state(), [(1, 1)] * 4 + [(0, 1)] * 2 + [(1, 1), (0, 0)]) == [
        0, 1, 0, 1, 1, 1, 0, -1
    ]  # fmt: skip


def test_compute_first():
    state = fresh_state()
    state.config["arbiter"]["policy"] = Policy.COMPUTE_FIRST.value
    assert choices(state, [(1, 1)] * 3 + [(0, 1), (1, 0)]) == [0, 0, 0, 1, 0]
    assert choices(state, [(1, 1)], room=False) == [-1]


@pytest.mark.parametrize("limit", [0, 3, 9])
def test_mca_starvation(limit):
    state = fresh_state()
    state.config["arbiter"]["policy"] = Policy.MCA.value
    state.config["arbiter"]["starvation_limit"] = limit
    assert choices(state, [(1, 1)] * (limit + 2)) == [0] * limit + [1] + ([0] if limit else [1])


@pytest.mark.parametrize(("occupancy", "threshold", "passes"), [(4, 5, 1), (5, 5, 0), (99, ANY, 1)])
def test_mca_threshold(occupancy, threshold, passes):
    state = fresh_state()
    state.config["arbiter"]["policy"] = Policy.MCA.value
    state.config["arbiter"]["starvation_limit"] = 1000
    state.config["arbiter"]["threshold"] = threshold
    state.channels[0]["occupancy"] = occupancy
    assert choices(state, [(0, 1)]) == [1 if passes else -1]


@pytest.mark.parametrize(("occupancy", "level"), [(9, ANY), (10, 80), (29, 80), (30, 40), (60, 20)])
def test_measurement(occupancy, level):
    state = fresh_state()
    arbiter = state.config["arbiter"]
    arbiter["cuts"], arbiter["levels"], arbiter["measure_log2"] = (10, 30, 60), (80, 40, 20), 4
    state.channels[0]["occupancy"] = occupancy
    measure(state.config["arbiter"], state.channels[0], True)
    # 16 additions, the division, the cuts.
    for _ in range(17):
        measure(state.config["arbiter"], state.channels[0], False)
        assert state.channels[0]["measured"] == ANY
    measure(state.config["arbiter"], state.channels[0], False)
    assert state.channels[0]["measured"] == level and not state.channels[0]["measuring"]


@pytest.mark.parametrize("after", range(1, 6))
def test_measurement_begins_anew_in_any_of_its_steps(after):
    state = fresh_state()
    state.config["arbiter"]["measure_log2"] = 1
    state.config["arbiter"]["levels"][2] = 20
    state.config["arbiter"]["cuts"][2] = 50
    state.channels[0]["occupancy"] = 90
    measure(state.config["arbiter"], state.channels[0], True)
    for _ in range(after - 1):
        measure(state.config["arbiter"], state.channels[0], False)
    assert state.channels[0]["measured"] == (20 if after == 5 else ANY)
    measure(state.config["arbiter"], state.channels[0], True)
    state.channels[0]["occupancy"] = 49
    for _ in range(6):
        assert state.channels[0]["measured"] == ANY
        measure(state.config["arbiter"], state.channels[0], False)
