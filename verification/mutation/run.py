"""Runs the campaigns of several blocks."""

import contextlib
import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path

from sysmodel.progress import Report, no_progress

from ..proofs.sby import warm_up
from .campaign import Outcome, run_block
from .simulate import PLAYED

__all__ = ["run"]

_AT_A_TIME = 2
_POLL_S = 0.3


def _quietly(name: str, count: int, seed: int, folder: Path) -> Outcome:
    with contextlib.redirect_stdout(None):
        return run_block(name, count=count, seed=seed, folder=folder)


def _played(folder: Path) -> int:
    """Mutants that were played so far."""
    files = folder.glob(f"*/{PLAYED}")
    return sum(file.read_bytes().count(b"\n") for file in files)


def run(
    names: Sequence[str], *, count: int, seed: int, progress: Report = no_progress
) -> list[Outcome]:
    """Mutate blocks, two at a time; the outcomes are in the order of the names.

    Parameters
    ----------
    names : sequence of str
        Of :data:`~verification.targets.BLOCKS`, the longest first.
    count, seed : int
        Mutants of each block, and what makes them random.
    progress : callable

    Raises
    ------
    AssertionError
        If a bench fails on its block as it is.
    """
    warm_up()
    workers = min(_AT_A_TIME, os.cpu_count() or 1)
    context = multiprocessing.get_context("spawn")  # a fork would copy what other threads hold
    with tempfile.TemporaryDirectory(prefix="t3-mutate-") as root:
        pool = ProcessPoolExecutor(workers, mp_context=context)
        try:
            futures = {}
            for name in names:
                folder = Path(root) / name
                folder.mkdir()
                futures[name] = pool.submit(_quietly, name, count, seed, folder)
            waiting = set(futures.values())
            while waiting:
                done, waiting = wait(waiting, _POLL_S, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()  # an error ends the run at once
                progress("mutants", min(_played(Path(root)) / (len(names) * count), 1.0))
        finally:
            pool.shutdown(cancel_futures=True)
    return [futures[name].result() for name in names]
