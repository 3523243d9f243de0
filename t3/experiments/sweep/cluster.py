"""Processes that simulate: of this machine, or of a Dask cluster that runs already."""

import logging
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sysmodel.lib.errors import InputError

from . import orphan

if TYPE_CHECKING:
    from distributed import Client

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

_OF_PROGRAMS = {
    "distributed.scheduler.preload": [orphan.__name__],
    "distributed.nanny.preload": [orphan.__name__],
    "logging.distributed": "critical",
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
    """Processes that are programs of their own, which do not run the caller's script again."""
    from dask.system import CPU_COUNT
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    with ExitStack() as stack:
        scratch = tempfile.TemporaryDirectory(prefix="t3-sweep-", ignore_cleanup_errors=True)
        local_directory = stack.enter_context(scratch)
        # Workers inherit this: they are deaf to Ctrl-C, of which only this process makes sense.
        # Starting and stopping them cannot be left half done either.
        stack.callback(_hear_interrupts, True)
        _hear_interrupts(False)
        stack.enter_context(_environment())
        cluster = stack.enter_context(
            SubprocessCluster(
                n_workers=min(workers or CPU_COUNT, most_workers),
                threads_per_worker=1,
                # Its server starts nonetheless, and not at the port that all others take.
                scheduler_kwargs={
                    "dashboard": False,
                    "dashboard_address": "127.0.0.1:0",
                    "scheduler_file": f"{local_directory}/scheduler.json",
                },
                worker_kwargs={"memory_limit": 0, "local_directory": local_directory},
                silence_logs=logging.CRITICAL,
            )
        )
        client: Client = stack.enter_context(
            Client(cluster)  # type: ignore[no-untyped-call]  # Dask's
        )
        stack.callback(_hear_interrupts, False)
        _hear_interrupts(True)
        yield client


@contextmanager
def _environment() -> Iterator[None]:
    """Settings as variables, which is how Dask's programs take them."""
    settings = {**_SETTINGS, **_OF_PROGRAMS}
    variables = {
        "DASK_" + key.upper().replace(".", "__").replace("-", "_"): str(value)
        for key, value in settings.items()
    }
    # They run the sources that run here.
    path = [str(Path(__file__).parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables |= {orphan.PARENT: str(os.getpid()), "PYTHONPATH": os.pathsep.join(path)}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _hear_interrupts(hear: bool) -> None:
    how = signal.SIG_UNBLOCK if hear else signal.SIG_BLOCK
    signal.pthread_sigmask(how, [signal.SIGINT])


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
