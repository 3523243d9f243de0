"""The golden arbiter's policies and its measurement."""

import pytest

from rtl.interface.encodings import Policy
from sysmodel.engine.golden.arbitration import ANY, arbitrate, measure
from tests.support.golden_state import fresh_state


def choices(state, candidates, room=True):
    return [arbitrate(state, state.channels[0], bool(c), bool(m), room) for c, m in candidates]


def state_with(*told, **configuration):
    """A state with this configuration of the arbiter, and what the criticality unit tells."""
    state = fresh_state()
    for name, value in ({"starvation_limit": 1000} | configuration).items():
        state.config["arbiter"][name] = getattr(value, "value", value)
    for name in told:
        state.gpu[name] = 1
    return state


def test_round_robin():
    assert choices(fresh_state(), [(1, 1)] * 4 + [(0, 1)] * 2 + [(1, 1), (0, 0)]) == [
        0, 1, 0, 1, 1, 1, 0, -1
    ]  # fmt: skip


def test_compute_first():
    state = state_with(policy=Policy.COMPUTE_FIRST)
    assert choices(state, [(1, 1)] * 3 + [(0, 1), (1, 0)]) == [0, 0, 0, 1, 0]
    assert choices(state, [(1, 1)], room=False) == [-1]


GATED = [
    (Policy.MCA, ("active",)),
    (Policy.MCA_PAPER, ()),
    (Policy.MCA_PAPER, ("active",)),
    (Policy.CRITICAL, ("active", "relaxed")),
]
"""Policies, and what they are told, where communication leaves room in the DRAM queue."""


@pytest.mark.parametrize("limit", [0, 3, 9])
@pytest.mark.parametrize(("policy", "told"), GATED)
def test_starvation(policy, told, limit):
    state = state_with(*told, policy=policy, starvation_limit=limit)
    assert choices(state, [(1, 1)] * (limit + 2)) == [0] * limit + [1] + ([0] if limit else [1])


@pytest.mark.parametrize(("occupancy", "threshold", "passes"), [(4, 5, 1), (5, 5, 0), (99, ANY, 1)])
@pytest.mark.parametrize(("policy", "told"), GATED)
def test_threshold(policy, told, occupancy, threshold, passes):
    state = state_with(*told, policy=policy, threshold=threshold)
    state.channels[0]["occupancy"] = occupancy
    assert choices(state, [(0, 1)]) == [1 if passes else -1]


@pytest.mark.parametrize(
    ("policy", "told"),
    [(Policy.MCA, ()), (Policy.CRITICAL, ()), (Policy.CRITICAL, ("active",))],
)
def test_no_threshold_where_there_is_nothing_to_protect(policy, told):
    state = state_with(*told, policy=policy, threshold=5)
    state.channels[0]["occupancy"] = 99
    assert choices(state, [(0, 1), (1, 1), (1, 0)]) == [1, 0, 0]


@pytest.mark.parametrize("told", [("critical",), ("critical", "active")])
def test_critical_communication_goes_first(told):
    state = state_with(
        *told, policy=Policy.CRITICAL, threshold=5, starvation_limit=4, cuts=[0, 0, 1]
    )
    state.channels[0]["occupancy"] = 99
    # Compute waits for its limit and no longer; then it begins anew.
    assert choices(state, [(1, 1)] * 10) == ([1] * 4 + [0]) * 2
    assert choices(state, [(0, 1), (1, 0), (0, 0)]) == [1, 0, -1]


@pytest.mark.parametrize("policy", [Policy.MCA, Policy.MCA_PAPER, Policy.COMPUTE_FIRST])
def test_what_is_critical_is_for_one_policy_only(policy):
    state = state_with("critical", "active", policy=policy)
    assert choices(state, [(1, 1)] * 3) == [0] * 3


def test_compute_that_waits_is_counted_up_to_the_most():
    state = state_with("critical", policy=Policy.CRITICAL, starvation_limit=65535, cuts=[0, 0, 1])
    channel = state.channels[0]
    channel["compute_starved"] = 65533
    for expected in (65534, 65535, 65535):
        assert choices(state, [(1, 1)], room=False) == [-1]
        assert channel["compute_starved"] == expected
    assert choices(state, [(1, 1)]) == [0] and not channel["compute_starved"]
    assert choices(state, [(1, 1)]) == [1] and channel["compute_starved"] == 1
    # A cycle without a request begins the count anew.
    assert choices(state, [(0, 1)]) == [1] and not channel["compute_starved"]


@pytest.mark.parametrize("encoding", [5, 6, 7])
def test_encodings_of_no_policy(encoding):
    assert choices(state_with(policy=encoding), [(1, 1)] * 4) == [0, 1, 0, 1]


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
