"""Processes that work for this one, and end when it no longer waits for them."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing import active_children, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

__all__ = ["side_by_side", "worker_processes"]

_AT_A_TIME = 2  # what runs so takes up to a GB each
_POLL_S = 0.3

Result = TypeVar("Result")


class _Process(SpawnProcess):
    def start(self) -> None:
        # It shall not hear Ctrl-C from its first import on. The tracker would start here, too, and
        # that unblocks the signal.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):  # a fork would copy what other threads hold
    Process = _Process


def _begin(
    folder: str, initializer: Callable[..., None] | None, arguments: tuple[Any, ...]
) -> None:
    # Ctrl-C is for the one that waits, which ends the worker and all that the worker has started.
    os.setpgrp()
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None  # it is looked up again
    if initializer is not None:
        initializer(*arguments)


def _kill(process: BaseProcess) -> None:
    assert process.pid is not None, "It has not begun"
    with suppress(ProcessLookupError):  # it has no group yet, or has ended
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()


@contextmanager
def worker_processes(
    count: int, initializer: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """Processes for the time of a ``with``.

    If that ends by an error or an interrupt they end at once, with the programs that they run; what
    they have in temporary folders is removed.

    Parameters
    ----------
    count : int
    initializer : callable, optional
        Called in each of them, with the ``arguments``.
    """
    others = set(active_children())
    with tempfile.TemporaryDirectory(prefix="t3-workers-") as folder:
        begin = folder, initializer, arguments
        pool = ProcessPoolExecutor(count, _Context(), initializer=_begin, initargs=begin)
        try:
            yield pool
        except BaseException:
            for process in set(active_children()) - others:
                _kill(process)
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def side_by_side(
    task: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    waits: Callable[[float], None],
) -> list[Result]:
    """Call a function with each of the arguments, two at a time, in processes of their own.

    Parameters
    ----------
    task : callable
        Of a module, so that a new process finds it. Its first error ends the run.
    arguments : sequence of tuple
        The longest first.
    waits : callable
        Called several times a second with the share that is done.

    Returns
    -------
    list
        What it returned, in the order of the arguments.
    """
    workers = min(_AT_A_TIME, os.cpu_count() or 1)
    with worker_processes(workers) as pool:
        futures = [pool.submit(task, *given) for given in arguments]
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, _POLL_S, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            waits(1 - len(waiting) / len(futures))
    return [future.result() for future in futures]
