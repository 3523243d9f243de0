"""Limits of the simulated work of a case, so that a case ends on every machine."""

from collections.abc import Callable
from typing import Any

import pytest

from sysmodel.lib.errors import SimulationError

__all__ = ["TooLarge", "limit_simulations"]

_MOST_REPORTS = 20
"""Reports of a simulation's progress, each after at most 50,000 cycles."""
_MOST_FLOPS = 1 << 31
_MOST_CHANNELS = 8
_MOST_REQUESTS = 100_000


class TooLarge(SimulationError):
    """Accepted case that would take too long."""

    def __init__(self) -> None:
        super().__init__("too large for this test")


def _counted(report: Callable[[str, float], None]) -> Callable[[str, float], None]:
    left = _MOST_REPORTS

    def counted(task: str, share: float) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooLarge
        report(task, share)

    return counted


def limit_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """End each simulation that is too large with :class:`TooLarge`; sweeps use no processes."""
    # A module that is first imported while a case runs would keep the limit for later tests.
    from sysmodel.runs import check, sampling_error, simulate, soundness
    from t3.experiments.dram import request
    from t3.experiments.sweep import run, task

    real_simulate, real_check, real_serve = simulate.simulate, check.check, request.serve

    def simulated(plan: Any, report: Any, **options: Any) -> Any:
        work = plan.workload
        is_large = work.flops > _MOST_FLOPS or work.output_bytes > _MOST_FLOPS >> 8
        if is_large or plan.channels > _MOST_CHANNELS:
            raise TooLarge
        return real_simulate(plan, _counted(report), **options)

    def checked(options: Any, report: Any) -> Any:
        if options.m * options.n * options.k > _MOST_FLOPS or options.skew > 50_000:
            raise TooLarge
        return real_check(options, _counted(report))

    def served(timing: Any, pattern: Any, **options: Any) -> Any:
        if len(pattern.atoms) > _MOST_REQUESTS:
            raise TooLarge
        return real_serve(timing, pattern, **options)

    def here(simulations: Any, done: Any, tick: Any, *, workers: Any) -> None:
        if len(simulations) > 8:
            raise TooLarge
        tick(1)
        for one in simulations:
            result = task.simulate_point(*run_arguments(one))
            done(one, result.get("rows"), result.get("failure"))

    run_arguments = task.arguments_of
    for module in (simulate, soundness, sampling_error):
        monkeypatch.setattr(module, "simulate", simulated)
    monkeypatch.setattr(check, "check", checked)
    monkeypatch.setattr(request, "serve", served)
    monkeypatch.setattr(run, "simulate_here", here)
