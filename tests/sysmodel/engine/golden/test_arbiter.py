"""The golden arbiter's policies and its measurement."""

import pytest
from golden_state import fresh_state

from rtl.interface.encodings import Policy
from sysmodel.engine.golden.arbiter import ANY, arbitrate, measure
from sysmodel.engine.golden.state import C, K


def choices(state, candidates, room=True):
    return [arbitrate(state, 0, bool(c), bool(m), room) for c, m in candidates]


def test_round_robin():
    assert choices(fresh_state(), [(1, 1)] * 4 + [(0, 1)] * 2 + [(1, 1), (0, 0)]) == [
        0, 1, 0, 1, 1, 1, 0, -1
    ]  # fmt: skip


def test_compute_first():
    state = fresh_state()
    state.config[C.policy] = Policy.COMPUTE_FIRST.value
    assert choices(state, [(1, 1)] * 3 + [(0, 1), (1, 0)]) == [0, 0, 0, 1, 0]
    assert choices(state, [(1, 1)], room=False) == [-1]


@pytest.mark.parametrize("limit", [0, 3, 9])
def test_mca_starvation(limit):
    state = fresh_state()
    state.config[C.policy] = Policy.MCA.value
    state.config[C.starvation_limit] = limit
    assert choices(state, [(1, 1)] * (limit + 2)) == [0] * limit + [1] + ([0] if limit else [1])


@pytest.mark.parametrize(("occupancy", "threshold", "passes"), [(4, 5, 1), (5, 5, 0), (99, ANY, 1)])
def test_mca_threshold(occupancy, threshold, passes):
    state = fresh_state()
    state.config[C.policy] = Policy.MCA.value
    state.config[C.starvation_limit] = 1000
    state.config[C.threshold] = threshold
    state.channels[K.occupancy] = occupancy
    assert choices(state, [(0, 1)]) == [1 if passes else -1]


@pytest.mark.parametrize(("occupancy", "level"), [(9, ANY), (10, 80), (29, 80), (30, 40), (60, 20)])
def test_measurement(occupancy, level):
    state = fresh_state()
    for name, value in zip(
        ("cut0", "cut1", "cut2", "level0", "level1", "level2", "measure_log2"),
        (10, 30, 60, 80, 40, 20, 4),
        strict=True,
    ):
        state.config[getattr(C, name)] = value
    state.channels[K.occupancy] = occupancy
    measure(state, 0, True)
    # 16 additions, the division, the cuts.
    for _ in range(17):
        measure(state, 0, False)
        assert state.channels[K.measured] == ANY
    measure(state, 0, False)
    assert state.channels[K.measured] == level and not state.channels[K.measuring]


@pytest.mark.parametrize("after", range(1, 6))
def test_measurement_begins_anew_in_any_of_its_steps(after):
    state = fresh_state()
    state.config[C.measure_log2] = 1
    state.config[C.level2] = 20
    state.config[C.cut2] = 50
    state.channels[K.occupancy] = 90
    measure(state, 0, True)
    for _ in range(after - 1):
        measure(state, 0, False)
    assert state.channels[K.measured] == (20 if after == 5 else ANY)
    measure(state, 0, True)
    state.channels[K.occupancy] = 49
    for _ in range(6):
        assert state.channels[K.measured] == ANY
        measure(state, 0, False)
