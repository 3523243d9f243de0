"""Simulation of a sweep's points on the workers of a running Dask cluster."""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, TypeAlias

from distributed import Client, Future, wait
from distributed.scheduler import KilledWorker

from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.lib.jobs import WorkerDiedError

from .pool import Done, Tick
from .simulations import Simulation
from .task import arguments_of, failure_of, simulate_point

__all__ = ["cluster_client", "simulate_on"]

_CONNECT_S = 10
_TICK_S = 0.5
_LOGGERS = ("distributed", "asyncio", "tornado")

_Future: TypeAlias = Future[dict[str, Any]]


@contextmanager
def cluster_client(scheduler: str) -> Iterator[Client]:
    """Connect to a Dask scheduler by its address.

    Raises
    ------
    InputError
        The scheduler cannot be reached.
    """
    with _quiet():
        try:
            client = Client(  # type: ignore[no-untyped-call]  # Dask's
                scheduler, timeout=_CONNECT_S
            )
        except Exception as error:  # a server of another kind may cause any error
            raise InputError(
                "scheduler",
                f"{scheduler!r} cannot be reached within {_CONNECT_S} s; allowed: the address that "
                "`dask scheduler` prints, such as tcp://host:8786",
            ) from error
        with client:
            yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's log, which is meant for operators of a cluster, off the terminal."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _LOGGERS]
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def simulate_on(client: Client, simulations: Sequence[Simulation], done: Done, tick: Tick) -> None:
    """Simulate in the order of the list, however many workers the cluster has at any time.

    A thread of a worker has at most one point, so a worker that dies takes only that point with it.
    Dask hands the point to another worker, a few times at most.

    Raises
    ------
    SimulationError
        The connection to the scheduler was lost.
    """
    waiting = iter(simulations)
    running: dict[_Future, Simulation] = {}
    left = len(simulations)
    try:
        while left:
            threads = sum(client.nthreads().values())  # type: ignore[no-untyped-call]  # Dask's
            tick(threads)
            while len(running) < threads and (one := next(waiting, None)) is not None:
                running[client.submit(simulate_point, *arguments_of(one), pure=False)] = one
            for future in _ended(list(running)):
                outcome = _outcome(future)
                done(running.pop(future), outcome.get("rows"), outcome.get("failure"))
                left -= 1
    except (OSError, CancelledError) as error:
        raise SimulationError(
            "the connection to the scheduler was lost; completed points are stored"
        ) from error


def _ended(running: list[_Future]) -> set[_Future]:
    """Wait a moment for the first simulation to end."""
    if not running:
        time.sleep(_TICK_S)
        return set()
    try:
        ended: set[_Future] = wait(  # type: ignore[no-untyped-call]  # Dask's
            running, timeout=_TICK_S, return_when="FIRST_COMPLETED"
        ).done
        return ended
    except asyncio.TimeoutError:  # a separate class before Python 3.11
        return set()


def _outcome(future: _Future) -> dict[str, Any]:
    if future.status != "error":
        result: dict[str, Any] = future.result()
        return result
    error = future.exception()  # type: ignore[no-untyped-call]  # Dask's
    if isinstance(error, KilledWorker):
        return {"failure": str(WorkerDiedError())}
    return {"failure": failure_of(error)}
