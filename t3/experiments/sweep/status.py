"""Status of a sweep in progress."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .simulations import Simulation

__all__ = ["Report", "Status", "StatusReporter"]


@dataclass(frozen=True, kw_only=True)
class Status:
    """Status of a sweep at one moment.

    Attributes
    ----------
    points, done, found : int
        Number of points in the grid, with results, and with results of an earlier run.
    duplicates : int
        Number of points that the grid gives twice.
    other_code, unreadable : int
        Number of lines in the checkpoint that were made by other sources; number of lines without a
        result.
    failures : tuple of str
        A line for each point that failed.
    share : float
        Share of this run's expected work that is done, from 0 to 1.
    elapsed_s : float
        Time since the first simulation began.
    workers : int or None
        Number of points that can be simulated at a time; None before the first one begins.
    """

    points: int
    done: int
    found: int
    duplicates: int
    other_code: int
    unreadable: int
    failures: tuple[str, ...] = ()
    share: float = 0.0
    elapsed_s: float = 0.0
    workers: int | None = None

    @property
    def left_s(self) -> float | None:
        """Estimate of the time left; None before the first simulation has ended."""
        return self.elapsed_s * (1 - self.share) / self.share if self.share else None


Report = Callable[[Status], None]


class StatusReporter:
    """Keeps the status of a sweep and reports every change.

    Parameters
    ----------
    status : Status
        Status at the beginning.
    simulations : list of Simulation
        All simulations to do.
    report : callable
        Called with the status at the beginning and at every change.
    """

    def __init__(self, status: Status, simulations: list[Simulation], report: Report):
        self.status, self._report = status, report
        self._all = sum(one.cost for one in simulations)
        self._done = 0
        self._begin: float | None = None
        report(status)

    def tick(self, workers: int) -> None:
        """Report that time has passed, and the number of workers."""
        self._begin = self._begin or time.monotonic()
        self._change(workers=workers)

    def finished(self, simulation: Simulation, failure: str | None) -> None:
        """Report that a simulation has ended, and the reason if it failed."""
        self._done += simulation.cost
        if failure is None:
            self._change(done=self.status.done + len(simulation.titles))
        else:
            lines = (f"{one}: {failure}" for one in simulation.titles)
            self._change(failures=(*self.status.failures, *lines))

    def _change(self, **changes: Any) -> None:
        elapsed_s = time.monotonic() - self._begin if self._begin else 0.0
        share = self._done / self._all
        self.status = replace(self.status, share=share, elapsed_s=elapsed_s, **changes)
        self._report(self.status)
