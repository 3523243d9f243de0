"""How far a sweep is."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .jobs import Job

__all__ = ["Report", "Status", "Watch"]


@dataclass(frozen=True, kw_only=True)
class Status:
    """A moment of a sweep.

    Attributes
    ----------
    points, done, found : int
        Of the grid; with results; of these, with results from before.
    duplicates, other_code, unreadable : int
        Points that the grid gives twice; lines of the kept results that other sources made, and
        that are none.
    failures : tuple of str
        A line for each point that failed.
    share : float
        Of the expected work that is done, without what was found, from 0 to 1.
    elapsed_s : float
        Since the first point was handed out.
    workers : int or None
        Points that can be simulated at a time; None before any was handed out.
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
        """Estimate of the time left; None while there is nothing to go by."""
        return self.elapsed_s * (1 - self.share) / self.share if self.share else None


Report = Callable[[Status], None]


class Watch:
    """Keeps the status and tells of every change.

    Parameters
    ----------
    status : Status
        At the beginning.
    jobs : list of Job
        All that is to be done.
    """

    def __init__(self, status: Status, jobs: list[Job], report: Report):
        self.status, self._report = status, report
        self._all = sum(job.cost for job in jobs)
        self._done = 0
        self._begin: float | None = None
        report(status)

    def tick(self, workers: int) -> None:
        """Time has passed."""
        self._begin = self._begin or time.monotonic()
        self._tell(workers=workers)

    def finished(self, job: Job, failure: str | None) -> None:
        """A simulation has ended."""
        self._done += job.cost
        if failure is None:
            self._tell(done=self.status.done + len(job.titles))
        else:
            lines = (f"{one}: {failure}" for one in job.titles)
            self._tell(failures=(*self.status.failures, *lines))

    def _tell(self, **changes: Any) -> None:
        elapsed_s = time.monotonic() - self._begin if self._begin else 0.0
        share = self._done / self._all
        self.status = replace(self.status, share=share, elapsed_s=elapsed_s, **changes)
        self._report(self.status)
