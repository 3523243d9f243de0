"""Jobs: Python functions in worker processes, for sweeps, proofs, mutants, faults and compilers.

An error, an interrupt or the death of the caller kills the workers with all programs that they run.
A job whose worker dies runs again in another worker, at most three times.
"""

import os
import pickle
import resource
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from queue import SimpleQueue
from typing import Any, TypeVar

import loky
import psutil
from loky.process_executor import TerminatedWorkerError

from .errors import ToolError

__all__ = ["WorkerDiedError", "map_jobs", "run_jobs"]

_WORKERS = 2  # by default: a job takes up to a GB
_ATTEMPTS = 3
_TICK_S = 0.3
_PARENT_POLL_S = 0.5
_FILES, _FILES_OF_A_WORKER = 100, 8  # open files of the caller

Result = TypeVar("Result")


class WorkerDiedError(ToolError):
    """The worker process of a job died, and so did the workers that repeated the job."""

    def __init__(self) -> None:
        super().__init__("its worker process died, and so did those that tried again")


def _end_with(parent: int) -> None:
    """Kill this process and its programs when its parent has died."""
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_S)
    for program in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            program.kill()
    os._exit(1)


def _begin(parent: int) -> None:
    """Set up a worker process."""
    os.setpgrp()  # out of reach of signals to the command's process group
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _call(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    """Call a function in a worker; an error that pickle cannot carry becomes a RuntimeError."""
    try:
        return function(*arguments)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RuntimeError(f"{type(error).__name__}: {error}") from None
        raise


class _Worker:
    """Worker process; the next job replaces a process that died."""

    def __init__(self, folder: str):
        self._folder = folder
        self._lock = threading.Lock()
        self._closed = False
        self._executor = self._new_executor()

    def _new_executor(self) -> Any:
        # In contrast to the standard library's workers, Loky's workers do not run the caller's
        # script again.
        return loky.ProcessPoolExecutor(
            1, initializer=_begin, initargs=(os.getpid(),), env={"TMPDIR": self._folder}
        )

    def run(self, function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
        for _ in range(_ATTEMPTS):
            with self._lock:
                if self._closed:
                    raise CancelledError
                future: Future[Result] = self._executor.submit(_call, function, arguments)
            try:
                return future.result()
            except BrokenProcessPool as error:
                with self._lock:
                    self._executor = self._new_executor()
                if not isinstance(error, TerminatedWorkerError):
                    raise
        raise WorkerDiedError

    def close(self) -> None:
        """Kill the process with all processes that it has started, and accept no further job."""
        with self._lock:
            self._closed = True
            self._executor.shutdown(kill_workers=True)


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Block SIGINT in the threads that start inside the context, and hence in the processes that
    they start.
    """
    resource_tracker.ensure_running()  # unblocks SIGINT when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _allow_files(workers: int) -> None:
    """Raise the limit of open files if it is too low for so many workers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _FILES + _FILES_OF_A_WORKER * workers
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def run_jobs(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    *,
    done: Callable[[int, "Future[Result]"], None],
    workers: int = _WORKERS,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Call a function of a module with each of the arguments, in worker processes.

    Parameters
    ----------
    arguments : sequence of tuple
        Arguments of each job, in the order in which the jobs begin.
    done : callable
        Called with each job's index as it ends, and with a future that has the result or the error.
    workers : int
        Jobs at a time.
    tick : callable
        Called several times a second, to show progress.
    """
    _allow_files(workers)
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        # Loky replaces a worker whose memory grows.
        warnings.filterwarnings("ignore", "A worker (was restarted|stopped)", UserWarning)
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="t3-workers-", ignore_cleanup_errors=True)
        )
        # Signal handlers run in the main thread, so none interrupts the start of a process here.
        threads = ThreadPoolExecutor(workers)
        stack.callback(threads.shutdown, cancel_futures=True)
        idle: SimpleQueue[_Worker] = SimpleQueue()
        for _ in range(workers):
            worker = _Worker(folder)
            stack.callback(worker.close)
            idle.put(worker)

        def run(job: tuple[Any, ...]) -> Result:
            worker = idle.get()
            try:
                return worker.run(function, job)
            finally:
                idle.put(worker)

        with _sigint_blocked():
            futures = {threads.submit(run, job): index for index, job in enumerate(arguments)}
        waiting = set(futures)
        while waiting:
            ended, waiting = wait(waiting, _TICK_S, return_when=FIRST_COMPLETED)
            for future in ended:
                done(futures[future], future)
            tick()


def map_jobs(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    tick: Callable[[float], None],
) -> list[Result]:
    """Call a function with each of the arguments, two at a time; see :func:`run_jobs`.

    Parameters
    ----------
    function : callable
        A function of a module. Its first error ends the run.
    arguments : sequence of tuple
        Arguments of each job, the longest job first.
    tick : callable
        Called several times a second with the share of the jobs that have ended.

    Returns
    -------
    list
        Results in the order of the arguments.
    """
    results: dict[int, Result] = {}

    def done(index: int, future: "Future[Result]") -> None:
        results[index] = future.result()

    run_jobs(function, arguments, done=done, tick=lambda: tick(len(results) / len(arguments)))
    return [results[index] for index in range(len(arguments))]
