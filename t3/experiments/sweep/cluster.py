"""Processes that simulate: of this machine, or of a Dask cluster that runs already."""

import logging
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

import psutil

from sysmodel.lib.errors import InputError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

__all__ = ["cluster_client"]

_CONNECT_S = 10
_DEATHS = 3
_LOGGERS = ("distributed", "asyncio", "tornado")
_SETTINGS = {
    "distributed.scheduler.allowed-failures": _DEATHS - 1,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.diagnostics.nvml": False,
}


@contextmanager
def cluster_client(
    scheduler: str | None, workers: int | None, most_workers: int
) -> Iterator["Client"]:
    """Connect to workers.

    Parameters
    ----------
    scheduler : str or None
        Address of a running Dask scheduler; without one, processes on this machine.
    workers : int or None
        Processes of this machine; one for each core unless given.
    most_workers : int
        More of them are of no use.

    Raises
    ------
    InputError
        The scheduler cannot be reached.
    """
    import dask.config

    with dask.config.set(_SETTINGS), _quiet():
        if scheduler is None:
            with _local(workers, most_workers) as client:
                yield client
        else:
            with _connected(scheduler) as client:
                yield client


@contextmanager
def _local(workers: int | None, most_workers: int) -> Iterator["Client"]:
    from dask.system import CPU_COUNT
    from distributed import Client, LocalCluster

    # Starting it would make the thread that spawns the workers hear Ctrl-C again.
    resource_tracker.ensure_running()
    with ExitStack() as stack:
        scratch = tempfile.TemporaryDirectory(prefix="t3-sweep-", ignore_cleanup_errors=True)
        local_directory = stack.enter_context(scratch)
        # Workers inherit this: they are deaf to Ctrl-C, of which only this process makes sense.
        # Starting and stopping them cannot be left half done either.
        stack.callback(_hear_interrupts, True)
        _hear_interrupts(False)
        cluster = stack.enter_context(
            LocalCluster(  # type: ignore[no-untyped-call]  # Dask's
                n_workers=min(workers or CPU_COUNT, most_workers),
                threads_per_worker=1,
                # Its server starts nonetheless, and not at the port that all others take.
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                memory_limit=0,
                local_directory=local_directory,
                silence_logs=logging.CRITICAL,
            )
        )
        client: Client = stack.enter_context(
            Client(cluster)  # type: ignore[no-untyped-call]  # Dask's
        )
        stack.push(lambda kind, *_: _leave(cluster, at_once=kind is not None))
        _hear_interrupts(True)
        yield client


def _hear_interrupts(hear: bool) -> None:
    how = signal.SIG_UNBLOCK if hear else signal.SIG_BLOCK
    signal.pthread_sigmask(how, [signal.SIGINT])


def _leave(cluster: "LocalCluster", *, at_once: bool) -> None:
    """Make ready for the end; ``at_once``: do not wait for the points and compilers that run."""
    _hear_interrupts(False)
    for nanny in cluster.workers.values() if at_once else ():
        nanny.close_gracefully()  # or it would start the worker anew
        with suppress(psutil.NoSuchProcess, TypeError):  # it may be between two workers
            worker = psutil.Process(int(nanny.pid))
            for process in (*worker.children(recursive=True), worker):
                process.kill()


@contextmanager
def _connected(address: str) -> Iterator["Client"]:
    from distributed import Client

    try:
        client = Client(  # type: ignore[no-untyped-call]  # Dask's
            address, timeout=_CONNECT_S
        )
    except Exception as error:  # whatever else answers there may say anything
        raise InputError(
            "scheduler",
            f"{address!r} cannot be reached within {_CONNECT_S} s; allowed: the address that "
            "`dask scheduler` prints, such as tcp://host:8786",
        ) from error
    with client:
        yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep from the terminal what Dask logs for who runs a cluster; a sweep tells what matters."""
    import distributed  # noqa: F401  sets the levels of its loggers

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
