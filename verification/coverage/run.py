"""Runner of the benches of several blocks with coverage."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sysmodel.lib.jobs import map_jobs
from sysmodel.lib.progress import Report, no_progress
from verification.failing_bench import FailingBench

from .measure import BlockCoverage, measure

__all__ = ["run"]


def _measure(name: str, seed: int, folder: Path) -> BlockCoverage | FailingBench:
    folder.mkdir(exist_ok=True)  # the folder exists if a worker died
    try:
        return measure(name, seed=seed, folder=folder)
    except AssertionError as error:
        return FailingBench(name, str(error))


def run(
    names: Sequence[str], *, seed: int, progress: Report = no_progress
) -> list[BlockCoverage | FailingBench]:
    """Measure blocks, two at a time; the results are in the order of the names.

    Parameters
    ----------
    names : sequence of str
        Names in :data:`~verification.targets.TARGETS`, the block that takes longest first.
    seed : int
        Seed of the benches.
    """
    with tempfile.TemporaryDirectory(prefix="t3-coverage-") as root:
        tasks = [(name, seed, Path(root) / name) for name in names]
        return map_jobs(_measure, tasks, lambda share: progress("benches", share))
