"""Progress of a long job: the protocol by which the job reports it."""

from collections.abc import Callable

__all__ = ["Report", "no_progress"]

Report = Callable[[str, float], None]
"""Callback for progress, with the current task and its finished share, from 0 to 1. A long job
calls it several times a second, so that the display moves and Ctrl-C takes effect."""


def no_progress(task: str, share: float) -> None:
    """Ignore progress."""
