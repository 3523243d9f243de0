"""The golden criticality unit: its measurements, to the end of its counters, and its outputs."""

import pytest

from sysmodel.engine.golden.trigger.criticality import CriticalityInputs, step_criticality
from tests.support.golden_state import fresh_state

MOST = {"elapsed": (1 << 20) - 1, "group_time": (1 << 14) - 1}
LAUNCH = {
    "workgroups": 100,
    "tracked_first": 10,
    "to_send": 90,
    "credit_window": 64,
}
GROUP = 2  # workgroups whose sending is timed at once: 100 / 2 groups


class Unit:
    """The unit in a state of its own.

    Attributes
    ----------
    own : record
        The unit's part of the state.
    """

    def __init__(self, **launch):
        self.state = fresh_state(credit_window=64)
        for name, value in (LAUNCH | launch).items():
            self.state.contexts[0]["launch"][name] = value
        self.own = self.state.contexts[0]["criticality"]
        self.window = self.state.contexts[0]["window"]
        self.dispatched, self.finished = 20, 15
        self.window["oldest"], self.dispatch_limit = 12, 1000
        self.step(launch=True)

    def step(self, cycles=1, *, issued=False, busy=True, launch=False, tick=True):
        for _ in range(cycles):
            progress = self.dispatched, self.finished, self.dispatch_limit
            inputs = CriticalityInputs(*progress, issued, busy, launch, tick, False)
            launch_configuration = self.state.contexts[0]["launch"]
            step_criticality(self.state.config, self.own, launch_configuration, self.window, inputs)

    def compare(self):
        """Run a comparison of the measurements; return its result."""
        self.own["phase"], self.own["changed"] = 0, 1
        self.step()
        self.step(63, tick=False)
        assert not self.own["phase"]
        return bool(self.own["late"])


def test_nothing_runs_before_the_launch():
    unit = Unit()
    unit.own["launched"] = 0
    unit.step(2000)
    assert not (unit.own["active"] or unit.own["critical"] or unit.own["elapsed"])


@pytest.mark.parametrize("name", ["elapsed", "group_time"])
def test_times_saturate(name):
    unit = Unit()
    unit.step(issued=True)
    unit.own[name] = MOST[name] - 1
    for _ in range(2):
        unit.own["fraction"] = 15
        unit.step()
        assert unit.own[name] == MOST[name]


def test_time_counts_while_the_kernel_runs_and_may_dispatch():
    unit = Unit()
    for _ in range(16):
        unit.step(5, tick=False)
        unit.step()
    assert (unit.own["elapsed"], unit.own["fraction"]) == (1, 0)
    unit.dispatch_limit = 20
    unit.step(5000)
    assert (unit.own["elapsed"], unit.own["fraction"]) == (1, 0)
    unit.dispatch_limit = 21
    unit.finished = 16
    unit.step(16)
    assert (unit.own["elapsed"], unit.own["finish_time"]) == (2, 1)


@pytest.mark.parametrize(
    ("workgroups", "group"), [(1, 1), (64, 1), (65, 2), (128, 2), (129, 4), (1000, 16)]
)
def test_the_last_group_counts(workgroups, group):
    unit = Unit(workgroups=workgroups)
    unit.step(issued=True)
    for cycles in (9, 4, 7, 3):
        for _ in range(group):
            unit.step(cycles - 1)
            unit.step(issued=True)
        assert unit.own["link_time"] == group * cycles
    assert unit.own["sent"] == 1 + 4 * group


def test_time_of_the_link_counts_while_the_engine_is_busy():
    unit = Unit()
    unit.step(issued=True)
    assert unit.own["group_time"] == 1
    unit.step(5, busy=False)
    assert unit.own["group_time"] == 1
    unit.step(5)
    assert unit.own["group_time"] == 6
    unit.step(GROUP, issued=True, busy=False)
    assert (unit.own["link_time"], unit.own["group_time"]) == (6, 0)


def test_a_group_takes_a_tick_at_least():
    unit = Unit()
    unit.step(issued=True, tick=False)
    unit.step(GROUP, issued=True, tick=False)
    assert (unit.own["link_time"], unit.own["group_time"]) == (1, 0)
    # A tick as a group ends counts for the next one.
    unit.step(GROUP - 1, issued=True, tick=False)
    unit.step(issued=True)
    assert (unit.own["link_time"], unit.own["group_time"]) == (1, 1)


@pytest.mark.parametrize("waits", [False, True])
def test_communication_has_time_once_its_time_is_known(waits):
    unit = Unit()
    unit.dispatch_limit = 20 if waits else 1000
    unit.step()
    assert not unit.own["relaxed"] and unit.own["critical"] == waits
    unit.step(1 + GROUP, issued=True)
    assert not unit.own["relaxed"]  # the outputs are registers
    unit.step()
    assert unit.own["relaxed"] != waits and unit.own["critical"] == waits


def test_compares_only_what_has_changed():
    unit = Unit()
    own = unit.own
    unit.step(tick=False)  # the ended measurement is known

    def begins():
        unit.step()
        began = bool(own["phase"])
        unit.step(70, tick=False)
        assert not own["phase"]
        return began

    assert begins() and not begins() and not begins()
    unit.step(issued=True, tick=False)
    assert begins() and not begins()
    unit.finished += 1
    assert not begins() and begins() and not begins()  # at the tick it is not known yet
    own["fraction"] = 15
    assert not begins() and begins() and not begins()
    unit.step(launch=True, tick=False)
    unit.step(tick=False)
    assert begins() and not begins()
    # A change during a comparison counts in the next comparison.
    unit.step(issued=True, tick=False)
    unit.step()
    unit.step(10, tick=False)
    unit.step(issued=True, tick=False)
    unit.step(53, tick=False)
    assert begins() and not begins()


@pytest.mark.parametrize("current", [False, True])
@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_late_begins_where_the_link_takes_over_three_quarters_of_the_kernel_s_time(extra, current):
    """64 workgroups to send, against 50 workgroups that take as long as those that have ended:
    48 units of 16 ticks."""
    unit = Unit(workgroups=100, to_send=2047, tracked_first=0)
    own = unit.own
    unit.finished = own["finished_seen"] = 50
    own["sent"] = 2047 - 64
    own["elapsed"] = own["finish_time"] = 48
    # The current group counts if it has taken longer than the last one.
    link_time = 48 * 16 * 3 // 4 // (64 // GROUP) + extra
    own["link_time"], own["group_time"] = (1, link_time) if current else (link_time, 1)
    assert unit.compare() == (extra > 0)


def test_a_workgroup_that_is_overdue_is_late():
    unit = Unit()
    unit.finished = unit.own["finished_seen"] = 50
    unit.own["finish_time"], unit.own["elapsed"] = 10, 20
    assert not unit.compare()
    unit.own["elapsed"] = 21
    assert unit.compare()


def test_nothing_to_send_is_never_late():
    unit = Unit()
    unit.own["link_time"], unit.own["sent"] = MOST["group_time"], 90
    unit.finished = unit.own["finished_seen"] = 99
    unit.own["finish_time"] = unit.own["elapsed"] = 99
    assert not unit.compare()
    unit.own["sent"] = 79
    assert unit.compare()


@pytest.mark.parametrize("phase", range(64))
def test_a_launch_voids_the_comparison(phase):
    """A launch clears all measurements, in any phase of a comparison."""
    unit = Unit()
    own = unit.own
    unit.finished = 50
    own["phase"] = phase
    own["finished_seen"], own["elapsed"], own["late"] = 50, 1000, 1
    unit.step(launch=True)
    for cycle in range(130):
        assert not own["late"]
        unit.step(tick=cycle % 64 == 0)
    assert not own["elapsed"] and own["finished_seen"] == 50
