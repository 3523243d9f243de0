"""Runner of the campaigns of several blocks."""

import contextlib
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from sysmodel.lib.jobs import run_jobs
from sysmodel.lib.progress import Report, no_progress
from verification.failing_bench import FailingBench

from .campaign import CampaignResult, run_block
from .checkpoint import CampaignCheckpoint
from .simulate import RESULTS

__all__ = ["run"]


def _run_block(name: str, count: int, seed: int, folder: Path) -> CampaignResult | FailingBench:
    folder.mkdir(parents=True, exist_ok=True)  # the folder exists if a worker died
    with contextlib.redirect_stdout(None):
        try:
            return run_block(name, count=count, seed=seed, folder=folder)
        except AssertionError as error:
            return FailingBench(name, f"seed {seed}: {error}")


def _simulated(folder: Path) -> int:
    """Mutants that the current stage of a campaign has simulated."""
    file = folder / RESULTS
    return file.read_bytes().count(b"\n") if file.exists() else 0


def run(
    names: Sequence[str],
    *,
    count: int,
    seeds: Sequence[int],
    checkpoint: CampaignCheckpoint,
    progress: Report = no_progress,
) -> list[CampaignResult | FailingBench]:
    """Mutate blocks, two at a time; the results are in the order of the names, then of the seeds.

    Parameters
    ----------
    names : sequence of str
        Names in :data:`~verification.targets.BLOCKS`, the block that takes longest first.
    count : int
        Mutants of each block for each seed.
    seeds : sequence of int
        Seeds of the mutants and of the benches.
    checkpoint : CampaignCheckpoint
        Campaigns that have ended; they do not run again.
    """
    campaigns = [(name, seed) for name in names for seed in seeds]
    results: dict[tuple[str, int], CampaignResult | FailingBench] = {
        one: result for one in campaigns if (result := checkpoint.result(*one))
    }
    missing = [one for one in campaigns if one not in results]
    with tempfile.TemporaryDirectory(prefix="t3-mutate-") as root:
        folders = {(name, seed): Path(root) / name / str(seed) for name, seed in missing}
        most = dict.fromkeys(missing, 0)

        def done(index: int, future: "Future[CampaignResult | FailingBench]") -> None:
            result = results[missing[index]] = future.result()
            if isinstance(result, CampaignResult):
                checkpoint.save(result)

        def tick() -> None:
            for campaign, folder in folders.items():
                # A later stage simulates only the mutants that are left.
                simulated = count if campaign in results else _simulated(folder)
                most[campaign] = max(most[campaign], simulated)
            ended = (len(campaigns) - len(missing)) * count
            progress("mutants", (ended + sum(most.values())) / (len(campaigns) * count))

        jobs = [(name, count, seed, folders[name, seed]) for name, seed in missing]
        run_jobs(_run_block, jobs, done=done, tick=tick)
    return [results[one] for one in campaigns]
