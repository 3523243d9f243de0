"""Waits for the end of programs."""

import time
from collections.abc import Iterable
from contextlib import suppress

import psutil

_SOON_S = 10.0


def end_soon(pids: Iterable[str]) -> bool:
    """Wait a moment for processes to end; return True if all have."""
    left = set(map(int, pids))
    deadline = time.monotonic() + _SOON_S
    while (left := set(filter(_runs, left))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not left


def _runs(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False
