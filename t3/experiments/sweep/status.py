"""Status of a sweep in progress."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .simulations import Simulation

__all__ = ["Report", "Status", "StatusReporter"]

_LEAST_S = 1.0  # shortest estimate that is shown


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
    left_s : float or None
        Estimate of the time left; None if there is no estimate.
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
    left_s: float | None = None
    workers: int | None = None


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
        self._open = list(simulations)
        self._all = sum(one.cost for one in simulations)
        self._done = 0
        self._begin: float | None = None
        self._ended: float | None = None
        report(status)

    def tick(self, workers: int) -> None:
        """Report that time has passed, and the number of workers."""
        self._begin = self._begin or time.monotonic()
        self._change(workers=workers)

    def finished(self, simulation: Simulation, failure: str | None) -> None:
        """Report that a simulation has ended, and the reason if it failed."""
        self._done += simulation.cost
        self._open = [one for one in self._open if one is not simulation]
        self._ended = time.monotonic()
        if failure is None:
            self._change(done=self.status.done + len(simulation.titles))
        else:
            lines = (f"{one}: {failure}" for one in simulation.titles)
            self._change(failures=(*self.status.failures, *lines))

    def _change(self, **changes: Any) -> None:
        share = self._done / self._all
        self.status = replace(self.status, share=share, left_s=self._left_s(), **changes)
        self._report(self.status)

    def _left_s(self) -> float | None:
        """Estimate the time left from the rate up to the last end of a simulation; None before the
        first one has ended, and when the estimated time is over.

        The simulations in flight, the first ones that have not ended, were then half done on
        average.
        """
        if self._begin is None or self._ended is None or not self._done:
            return None
        in_flight = self._open[: max(0, (self.status.workers or 1) - 1)]
        done = self._done + sum(one.cost for one in in_flight) / 2
        left_s = (self._ended - self._begin) * (self._all - done) / done
        left_s -= time.monotonic() - self._ended
        return left_s if left_s >= _LEAST_S else None
