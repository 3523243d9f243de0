"""Runs the campaigns of several blocks."""

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sysmodel.lib.progress import Report, no_progress
from sysmodel.lib.workers import side_by_side
from verification.failing_bench import FailingBench

from .campaign import Outcome, run_block
from .kept import Kept
from .simulate import PLAYED

__all__ = ["run"]


def _quietly(name: str, count: int, seed: int, folder: Path, kept: Kept) -> Outcome | FailingBench:
    if before := kept.outcome(name, seed):
        return before
    folder.mkdir(parents=True)
    with contextlib.redirect_stdout(None):
        try:
            outcome = run_block(name, count=count, seed=seed, folder=folder)
        except AssertionError as error:
            return FailingBench(name, f"seed {seed}: {error}")
    kept.keep(outcome)
    return outcome


def _played(folder: Path) -> int:
    """Mutants that the stage of a campaign has played so far."""
    file = folder / PLAYED
    return file.read_bytes().count(b"\n") if file.exists() else 0


def run(
    names: Sequence[str],
    *,
    count: int,
    seeds: Sequence[int],
    kept: Kept,
    progress: Report = no_progress,
) -> list[Outcome | FailingBench]:
    """Mutate blocks, two at a time; the outcomes are in the order of the names, then of the seeds.

    Parameters
    ----------
    names : sequence of str
        Of :data:`~verification.targets.BLOCKS`, the longest first.
    count : int
        Mutants of each block for each seed.
    seeds : sequence of int
        What makes them random.
    kept : Kept
        Campaigns that have ended; they are not run again.
    progress : callable
    """
    with tempfile.TemporaryDirectory(prefix="t3-mutate-") as root:
        folders = {(name, seed): Path(root) / name / str(seed) for name in names for seed in seeds}
        most = dict.fromkeys(folders, 0)

        def waits(_: float) -> None:
            for campaign, folder in folders.items():
                # A later stage plays only what is left.
                played = count if kept.has(*campaign) else _played(folder)
                most[campaign] = max(most[campaign], played)
            progress("mutants", sum(most.values()) / (len(most) * count))

        tasks = [(name, count, seed, folder, kept) for (name, seed), folder in folders.items()]
        return side_by_side(_quietly, tasks, waits)
