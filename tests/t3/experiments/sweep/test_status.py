"""Estimate of the time that a sweep still takes."""

from dataclasses import dataclass

import pytest

from t3.experiments.sweep import status
from t3.experiments.sweep.status import Status, StatusReporter


@dataclass(frozen=True)
class _Simulation:
    cost: int
    titles: tuple[str, ...] = ("point",)


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(status.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_fits_the_work_left(clock):
    """Two workers simulate eight equal points, of 10 s each, and one worker begins half-way."""
    simulations = [_Simulation(100) for _ in range(8)]
    seen: list[Status] = []
    begin = Status(points=8, done=0, found=0, duplicates=0, other_code=0, unreadable=0)
    reporter = StatusReporter(begin, simulations, seen.append)
    start = clock[0]
    reporter.tick(2)
    assert seen[-1].left_s is None
    for number, simulation in enumerate(simulations, start=1):
        clock[0] = start + 5.0 + 5.0 * number
        reporter.finished(simulation, None)
        true_left_s = 5.0 * (len(simulations) - number)
        if number < len(simulations):
            assert seen[-1].left_s == pytest.approx(true_left_s, rel=0.5)
        # Between two ends the estimate counts down, and never up.
        estimates = []
        for _ in range(4):
            clock[0] += 1.0
            reporter.tick(2)
            estimates.append(seen[-1].left_s)
        shown = [one for one in estimates if one is not None]
        assert shown == sorted(shown, reverse=True)
    assert seen[-1].left_s is None and seen[-1].share == 1.0


def test_an_estimate_that_is_over_is_not_shown(clock):
    simulations = [_Simulation(100), _Simulation(100)]
    seen: list[Status] = []
    begin = Status(points=2, done=0, found=0, duplicates=0, other_code=0, unreadable=0)
    reporter = StatusReporter(begin, simulations, seen.append)
    reporter.tick(1)
    clock[0] += 10.0
    reporter.finished(simulations[0], None)
    assert seen[-1].left_s == pytest.approx(10.0)
    clock[0] += 60.0
    reporter.tick(1)
    assert seen[-1].left_s is None
