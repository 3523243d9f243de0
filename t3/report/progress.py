"""Progress of a long job: a bar on a terminal or in a notebook, else lines on standard error."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

from sysmodel.lib.progress import Report

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["progress_console", "shown_progress"]

_FIRST_LINE_S, _LINE_S = 1.5, 5.0
_UPDATE_S = 0.5  # between updates of a notebook's bar
_MOST = 0.99  # share that is shown before the end


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
def shown_progress(
    console: "Console | None" = None, *, line_s: float = _LINE_S
) -> Iterator[Report]:
    """Show the current task, its share and the time since the beginning.

    A bar, on a terminal or in a notebook, vanishes at the end.

    Parameters
    ----------
    console : Console or None
        Console on standard error, to which the caller prints, too.
    line_s : float
        Time between two lines where there is no bar.
    """
    console = console or progress_console()
    if console.is_terminal:
        shown = _bar(console)
    elif _is_notebook():
        shown = _notebook_bar()
    else:
        shown = _lines(console, line_s)
    with shown as report:
        report("Loading", 0.0)
        yield report


def _is_notebook() -> bool:
    """Return True in a process that executes the cells of a notebook."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython and ipython.get_ipython(), "kernel")


def _text(task: str, share: float, seconds: float) -> str:
    done = f", {min(share, _MOST):.0%}" if share else ""
    return f"{task}{done}, {seconds:.0f} s"


@contextmanager
def _bar(console: "Console") -> Iterator[Report]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        shown = bars.add_task("", total=1.0)

        def report(task: str, share: float) -> None:
            bars.update(shown, description=task, completed=min(share, _MOST))

        yield report


@contextmanager
def _notebook_bar() -> Iterator[Report]:
    """Show one output, which is updated, and is empty at the end."""
    from IPython.display import display

    begin = time.monotonic()
    updated_s = begin
    output = display({"text/plain": ""}, raw=True, display_id=True)

    def report(task: str, share: float) -> None:
        nonlocal updated_s
        now = time.monotonic()
        if now - updated_s < _UPDATE_S:
            return
        updated_s = now
        text = _text(task, share, now - begin)
        bar = f'<progress value="{min(share, _MOST):.3f}"></progress> {escape(text)}'
        output.update({"text/plain": text, "text/html": bar}, raw=True)

    try:
        yield report
    finally:
        output.update({"text/plain": "", "text/html": ""}, raw=True)


@contextmanager
def _lines(console: "Console", line_s: float) -> Iterator[Report]:
    """Print a line after a moment, then one every few seconds, even between reports."""
    begin = time.monotonic()
    now = ("", 0.0)
    ended = threading.Event()

    def show() -> None:
        pause_s = _FIRST_LINE_S
        while not ended.wait(pause_s):
            console.print(_text(*now, time.monotonic() - begin))
            pause_s = line_s

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
