"""Hands simulations to the workers of a Dask cluster, one to each of their threads at a time."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any, TypeAlias

from distributed import Client, Future, wait
from distributed.scheduler import KilledWorker

from sysmodel.lib.errors import SimulationError

from .jobs import Job
from .rows import Rows
from .store import CODE
from .task import simulate_point

__all__ = ["simulate_all"]

_TICK_S = 0.5

_Future: TypeAlias = Future[dict[str, Any]]


def simulate_all(
    client: Client,
    jobs: list[Job],
    done: Callable[[Job, Rows | None, str | None], None],
    tick: Callable[[int], None],
) -> None:
    """Simulate, in order of the list, whatever number of workers there is at any time.

    A thread of a worker has at most one point, so a worker that dies takes only that one with it,
    and Dask hands it to another worker, a few times at most.

    Parameters
    ----------
    done : callable
        Called with each job as it ends, and with its rows, or else why there are none.
    tick : callable
        Called about twice a second with the number of the workers' threads.

    Raises
    ------
    SimulationError
        If the scheduler is lost.
    """
    waiting = iter(jobs)
    running: dict[_Future, Job] = {}
    left = len(jobs)
    try:
        while left:
            threads = sum(client.nthreads().values())  # type: ignore[no-untyped-call]  # Dask's
            tick(threads)
            while len(running) < threads and (job := next(waiting, None)) is not None:
                running[_submit(client, job)] = job
            for future in _finished(list(running)):
                done(running.pop(future), *_outcome(future))
                left -= 1
    except (OSError, CancelledError) as error:
        raise SimulationError(
            "the connection to the scheduler was lost; completed points are kept"
        ) from error


def _submit(client: Client, job: Job) -> _Future:
    point = job.point
    return client.submit(
        simulate_point, CODE, point.workload, point.system, point.options, pure=False
    )


def _finished(running: list[_Future]) -> set[_Future]:
    """Wait a moment for the first to end."""
    if not running:
        time.sleep(_TICK_S)
        return set()
    try:
        ended: set[_Future] = wait(  # type: ignore[no-untyped-call]  # Dask's
            running, timeout=_TICK_S, return_when="FIRST_COMPLETED"
        ).done
        return ended
    except asyncio.TimeoutError:  # of its own before Python 3.11
        return set()


def _outcome(future: _Future) -> tuple[Rows | None, str | None]:
    if future.status == "error":
        return None, _death(future.exception())  # type: ignore[no-untyped-call]  # Dask's
    found: dict[str, Any] = future.result()
    return found.get("rows"), found.get("failure")


def _death(error: BaseException) -> str:
    if isinstance(error, KilledWorker):
        return "its worker process died, and so did those that tried again"
    return " ".join(f"{type(error).__name__}: {error}".split())
