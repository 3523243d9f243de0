"""Progress on standard error: a bar on a terminal, lines elsewhere."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sysmodel.lib.progress import Report

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

__all__ = ["progress_console", "shown_progress"]

_FIRST_LINE_S, _LINE_S = 1.5, 5.0


def progress_console() -> "Console":
    """Console on standard error for progress."""
    from rich.console import Console

    # A notebook is not a terminal, even if its kernel requests colours.
    return Console(
        stderr=True,
        highlight=False,
        markup=False,
        soft_wrap=True,
        force_jupyter=False,
        force_terminal=sys.stderr.isatty(),
    )


@contextmanager
def shown_progress() -> Iterator[Report]:
    """Show the current task on standard error: a bar that vanishes, or lines without a terminal."""
    console = progress_console()
    with _bar(console) if console.is_terminal else _lines(console) as report:
        yield report


@contextmanager
def _bar(console: "Console") -> Iterator[Report]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bars:
        shown: dict[str, TaskID] = {}

        def report(task: str, share: float) -> None:
            if task not in shown:
                for done in shown.values():
                    bars.remove_task(done)
                shown.clear()
                shown[task] = bars.add_task(task, total=1.0)
            bars.update(shown[task], completed=share)

        report("Loading", 0.0)
        yield report


@contextmanager
def _lines(console: "Console") -> Iterator[Report]:
    """Print a line after a moment, then one every few seconds, even between reports."""
    begin = time.monotonic()
    now = ("Loading", 0.0)
    ended = threading.Event()

    def show() -> None:
        pause_s = _FIRST_LINE_S
        while not ended.wait(pause_s):
            task, share = now
            done = f", {share:.0%}" if share else ""
            console.print(f"{task}{done}, {time.monotonic() - begin:.0f} s")
            pause_s = _LINE_S

    def report(task: str, share: float) -> None:
        nonlocal now
        now = task, share

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield report
    finally:
        ended.set()
        thread.join()
