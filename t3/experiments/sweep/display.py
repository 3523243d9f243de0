"""Progress of a sweep on the terminal or in a notebook."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from t3.report.progress import progress_console, shown_progress
from t3.report.units import counted

from .status import Status

__all__ = ["Display", "duration"]

_LINE_S = 30.0  # time between lines without a terminal
_MOST_FAILURES = 20


class Display:
    """Status of a sweep, displayed as :func:`t3.report.progress.shown_progress` displays a task.

    A context manager; call it with each status, of one sweep or of several in turn. At the end it
    lists the failures, and after an interruption the number of points with results.

    Parameters
    ----------
    out : Path
        Folder of the sweep.
    title : str
        Name of the sweep among several sweeps of a command.
    """

    def __init__(self, out: Path, title: str = ""):
        self._out, self._title = out, title
        self._console = progress_console()
        self._exit = ExitStack()
        self._status: Status | None = None

    def __enter__(self) -> "Display":
        self._report = self._exit.enter_context(shown_progress(self._console, line_s=_LINE_S))
        return self

    def __call__(self, status: Status) -> None:
        self._status = status
        if status.workers is None:
            self._console.print(self._named(_beginning(status, self._out)))
        else:
            self._report(self._named(_line(status)), status.share)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exit.close()
        if self._status is None:
            return
        if self._status.failures:
            self._console.print(self._named(_line(self._status)))
        for failure in self._status.failures[:_MOST_FAILURES]:
            self._console.print(f"failed: {failure}")
        if (more := len(self._status.failures) - _MOST_FAILURES) > 0:
            self._console.print(f"failed: {more} more, in sweep.json")
        if isinstance(value, KeyboardInterrupt):
            self._console.print(
                f"{self._status.done} of {self._status.points} points are stored in {self._out}; "
                "the same command continues from there"
            )

    def _named(self, line: str) -> str:
        return f"{self._title}: {line}" if self._title else line


def _beginning(status: Status, out: Path) -> str:
    parts = [counted(status.points, "point")]
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
