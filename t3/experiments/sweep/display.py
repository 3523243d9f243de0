"""Progress of a sweep on the terminal."""

import time
from pathlib import Path
from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn

from t3.report.progress import progress_console

from .status import Status

__all__ = ["Display", "duration"]

_PLAIN_S = 30  # time between lines without a terminal
_MOST_FAILURES = 20


class Display:
    """Status of a sweep on standard error: a bar on a terminal, otherwise plain lines.

    A context manager; call it with each status, of one sweep or of several in turn. At the end it
    lists the failures, and after an interruption the number of points with results.

    Parameters
    ----------
    out : Path
        Folder of the sweep.
    """

    def __init__(self, out: Path):
        self._out = out
        self._console = progress_console()
        self._bar: Progress | None = None
        self._status: Status | None = None
        self._printed_s = 0.0

    def __enter__(self) -> "Display":
        if self._console.is_terminal:
            columns = TextColumn("{task.description}", markup=False), BarColumn()
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=1.0)
        return self

    def __call__(self, status: Status) -> None:
        self._status = status
        if status.workers is None:
            self._console.print(_beginning(status, self._out))
        if self._bar:
            self._bar.update(self._task, description=_line(status), completed=status.share)
        elif status.workers is not None and time.monotonic() - self._printed_s >= _PLAIN_S:
            self._printed_s = time.monotonic()
            self._console.print(_line(status))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()
        if self._status is None:
            return
        for failure in self._status.failures[:_MOST_FAILURES]:
            self._console.print(f"failed: {failure}")
        if (more := len(self._status.failures) - _MOST_FAILURES) > 0:
            self._console.print(f"failed: {more} more, in sweep.json")
        if isinstance(value, KeyboardInterrupt):
            self._console.print(
                f"{self._status.done} of {self._status.points} points are stored in {self._out}; "
                "the same command continues from there"
            )


def _beginning(status: Status, out: Path) -> str:
    parts = [f"{status.points} points"]
    if status.duplicates:
        parts.append(f"{status.duplicates} given twice")
    if status.found:
        parts.append(f"{status.found} found in {out}")
    if status.other_code:
        parts.append(f"{status.other_code} results of other sources in {out} not used")
    if status.unreadable:
        parts.append(f"{status.unreadable} unfinished lines in {out} not used")
    return ", ".join(parts)


def _line(status: Status) -> str:
    parts = [f"{status.done}/{status.points} points"]
    if status.failures:
        parts.append(f"{len(status.failures)} failed")
    if status.workers == 0:
        parts.append("waiting for workers")
    elif status.left_s is not None:
        parts.append(f"about {duration(status.left_s)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Format a time with its unit, to about two figures."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"
