"""Progress on the terminal, for whoever waits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

__all__ = ["Report", "no_progress", "shown_progress"]

Report = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done, from 0 to 1; a long job calls it
several times a second, so that it shows life and Ctrl-C is heard."""


def no_progress(task: str, share: float) -> None:
    """Show nothing."""


@contextmanager
def shown_progress() -> Iterator[Report]:
    """Show a bar for the current task on standard error, if that is a terminal; it vanishes."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield no_progress
        return
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

        yield report
