"""Long tasks side by side."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import Any, TypeVar

__all__ = ["side_by_side"]

_AT_A_TIME = 2
_POLL_S = 0.3

Result = TypeVar("Result")


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
    context = multiprocessing.get_context("spawn")  # a fork would copy what other threads hold
    pool = ProcessPoolExecutor(workers, mp_context=context)
    try:
        futures = [pool.submit(task, *given) for given in arguments]
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, _POLL_S, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            waits(1 - len(waiting) / len(futures))
    finally:
        pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures]
