"""The golden arbiter's policies and its measurement."""

import pytest

from rtl.interface.encodings import Policy
from sysmodel.engine.golden.channel.arbitration import NO_LIMIT, arbitrate, measure
from tb.golden import set_arbiter_inputs
from tests.support.golden_state import fresh_state


def choices(state, candidates, space=True):
    arbiter, inputs = state.config["arbiter"], state.gpu["arbiter_inputs"]
    channel = state.channels[0]
    given = channel["measurement"]["measured"], channel["occupancy"]
    return [
        arbitrate(arbiter, inputs, channel["arbiter"], *given, bool(c), bool(m), space)
        for c, m in candidates
    ]


def step_measurement(state, start=False):
    channel = state.channels[0]
    measure(state.config["arbiter"], channel["measurement"], channel["occupancy"], start)


def measured(state):
    return state.channels[0]["measurement"]["measured"]


def state_with(*signals, **configuration):
    """A state with this configuration of the arbiter, and these signals of the criticality unit
    on."""
    state = fresh_state()
    for name, value in ({"starvation_limit": 1000} | configuration).items():
        state.config["arbiter"][name] = getattr(value, "value", value)
    set_arbiter_inputs(state, signals)
    return state


def test_round_robin():
    assert choices(fresh_state(), [(1, 1)] * 4 + [(0, 1)] * 2 + [(1, 1), (0, 0)]) == [
        0, 1, 0, 1, 1, 1, 0, -1
    ]  # fmt: skip


def test_compute_first():
    state = state_with(policy=Policy.COMPUTE_FIRST)
    assert choices(state, [(1, 1)] * 3 + [(0, 1), (1, 0)]) == [0, 0, 0, 1, 0]
    assert choices(state, [(1, 1)], space=False) == [-1]


GATED = [
    (Policy.MCA, ("active",)),
    (Policy.MCA_PAPER, ()),
    (Policy.MCA_PAPER, ("active",)),
    (Policy.CRITICAL, ("active", "relaxed")),
]
"""Policies, and the signals that they get, where communication leaves space in the DRAM queue."""


@pytest.mark.parametrize("limit", [0, 3, 9])
@pytest.mark.parametrize(("policy", "signals"), [*GATED, (Policy.COMPUTE_FIRST, ("active",))])
def test_starvation(policy, signals, limit):
    state = state_with(*signals, policy=policy, starvation_limit=limit)
    least = max(1, limit)  # a limit of 0 acts like 1, so that compute is not kept out
    assert choices(state, [(1, 1)] * (least + 2)) == [0] * least + [1, 0]


@pytest.mark.parametrize("policy", [*Policy])
def test_both_streams_go_behind_a_full_queue(policy):
    """If both have waited for the limit, they take turns."""
    state = state_with("active", "relaxed", policy=policy, starvation_limit=3, threshold=0)
    got = []
    for _ in range(4):
        choices(state, [(1, 1)] * 4, space=False)
        got += choices(state, [(1, 1)])
    assert got == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("occupancy", "threshold", "passes"), [(4, 5, 1), (5, 5, 0), (99, NO_LIMIT, 1)]
)
@pytest.mark.parametrize(("policy", "signals"), GATED)
def test_threshold(policy, signals, occupancy, threshold, passes):
    state = state_with(*signals, policy=policy, threshold=threshold)
    state.channels[0]["occupancy"] = occupancy
    assert choices(state, [(0, 1)]) == [1 if passes else -1]


@pytest.mark.parametrize(
    ("policy", "signals"),
    [(Policy.MCA, ()), (Policy.CRITICAL, ()), (Policy.CRITICAL, ("active",))],
)
def test_no_threshold_where_there_is_nothing_to_protect(policy, signals):
    state = state_with(*signals, policy=policy, threshold=5)
    state.channels[0]["occupancy"] = 99
    assert choices(state, [(0, 1), (1, 1), (1, 0)]) == [1, 0, 0]


@pytest.mark.parametrize("signals", [("critical",), ("critical", "active")])
def test_critical_communication_goes_first(signals):
    state = state_with(
        *signals, policy=Policy.CRITICAL, threshold=5, starvation_limit=4, cuts=[0, 0, 1]
    )
    state.channels[0]["occupancy"] = 99
    # Compute waits for its limit and no longer; then it begins anew.
    assert choices(state, [(1, 1)] * 10) == ([1] * 4 + [0]) * 2
    assert choices(state, [(0, 1), (1, 0), (0, 0)]) == [1, 0, -1]


@pytest.mark.parametrize(
    "signals",
    [
        (),
        ("active",),
        ("active", "relaxed", "congested"),
        ("critical", "congested"),
        ("critical", "relaxed"),
    ],
)
def test_both_take_turns_where_neither_is_early(signals):
    state = state_with(*signals, policy=Policy.CRITICAL, threshold=0, starvation_limit=4)
    goes_first = [1] * 4 + [0] if signals == ("critical", "relaxed") else [0, 1, 0, 1, 0]
    assert choices(state, [(1, 1)] * 5) == goes_first
    assert choices(state, [(0, 1), (1, 0), (0, 0)]) == [1, 0, -1]


@pytest.mark.parametrize("policy", [Policy.MCA, Policy.MCA_PAPER, Policy.COMPUTE_FIRST])
def test_what_is_critical_is_for_one_policy_only(policy):
    state = state_with("critical", "active", policy=policy)
    assert choices(state, [(1, 1)] * 3) == [0] * 3


def test_compute_that_waits_is_counted_up_to_the_most():
    state = state_with("critical", policy=Policy.CRITICAL, starvation_limit=65535, cuts=[0, 0, 1])
    channel = state.channels[0]["arbiter"]
    channel["compute_starved"] = 65533
    for expected in (65534, 65535, 65535):
        assert choices(state, [(1, 1)], space=False) == [-1]
        assert channel["compute_starved"] == expected
    assert choices(state, [(1, 1)]) == [0] and not channel["compute_starved"]
    assert choices(state, [(1, 1)]) == [1] and channel["compute_starved"] == 1
    # A cycle without a request begins the count anew.
    assert choices(state, [(0, 1)]) == [1] and not channel["compute_starved"]


@pytest.mark.parametrize("encoding", [5, 6, 7])
def test_encodings_of_no_policy(encoding):
    assert choices(state_with(policy=encoding), [(1, 1)] * 4) == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("occupancy", "level"), [(9, NO_LIMIT), (10, 80), (29, 80), (30, 40), (60, 20)]
)
def test_measurement(occupancy, level):
    state = fresh_state()
    arbiter = state.config["arbiter"]
    arbiter["cuts"], arbiter["levels"], arbiter["measure_log2"] = (10, 30, 60), (80, 40, 20), 4
    state.channels[0]["occupancy"] = occupancy
    step_measurement(state, start=True)
    # 16 additions, the division, the cuts.
    for _ in range(17):
        step_measurement(state)
        assert measured(state) == NO_LIMIT
    step_measurement(state)
    assert measured(state) == level and not state.channels[0]["measurement"]["measuring_step"]


@pytest.mark.parametrize("after", range(1, 6))
def test_measurement_begins_anew_in_any_of_its_steps(after):
    state = fresh_state()
    state.config["arbiter"]["measure_log2"] = 1
    state.config["arbiter"]["levels"][2] = 20
    state.config["arbiter"]["cuts"][2] = 50
    state.channels[0]["occupancy"] = 90
    step_measurement(state, start=True)
    for _ in range(after - 1):
        step_measurement(state)
    assert measured(state) == (20 if after == 5 else NO_LIMIT)
    step_measurement(state, start=True)
    state.channels[0]["occupancy"] = 49
    for _ in range(6):
        assert measured(state) == NO_LIMIT
        step_measurement(state)
