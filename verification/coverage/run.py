"""Runs the benches of several blocks with coverage."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sysmodel.lib.progress import Report, no_progress
from sysmodel.lib.workers import side_by_side
from verification.failing_bench import FailingBench

from .measure import Measured, measure

__all__ = ["run"]


def _measure(name: str, seed: int, folder: Path) -> Measured | FailingBench:
    folder.mkdir()
    try:
        return measure(name, seed=seed, folder=folder)
    except AssertionError as error:
        return FailingBench(name, str(error))


def run(
    names: Sequence[str], *, seed: int, progress: Report = no_progress
) -> list[Measured | FailingBench]:
    """Measure blocks, two at a time; the results are in the order of the names.

    Parameters
    ----------
    names : sequence of str
        Of :data:`~verification.targets.TARGETS`, the longest first.
    seed : int
        Of the benches.
    progress : callable
    """
    with tempfile.TemporaryDirectory(prefix="t3-coverage-") as root:
        tasks = [(name, seed, Path(root) / name) for name in names]
        return side_by_side(_measure, tasks, lambda share: progress("benches", share))
