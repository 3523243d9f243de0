"""Ties Dask's processes to the sweep that started them. They load this as a preload module."""

import os
import signal
import threading
import time

__all__ = ["PARENT", "dask_setup"]

PARENT = "T3_SWEEP_PID"
"""Variable with the sweep's process."""

_LOOK_S = 0.5


def dask_setup(_: object) -> None:
    """Called by Dask in a scheduler, and in what watches a worker."""
    # The sweep blocks Ctrl-C for what it starts, but multiprocessing unblocks it before a worker.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(int(os.environ[PARENT]),), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)
