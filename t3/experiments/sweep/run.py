"""A sweep: every point of a grid simulated once, kept as it comes, and put into one table."""

import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.lib.output import OutputFolder, write_json

from .grid import Grid, load_grid
from .jobs import Job, missing_jobs
from .rows import Rows, complete, table
from .status import Report, Status, Watch
from .store import CODE, Kept, Store, read_kept

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CSV", "PARQUET", "POINTS", "RECORD", "SweepError", "sweep"]

CSV, PARQUET, POINTS, RECORD = "table.csv", "table.parquet", "points.jsonl", "sweep.json"
_MOST_WORKERS = 1024


class SweepError(SimulationError):
    """Some points failed; the table of the others is written.

    Parameters
    ----------
    status : Status
        At the end; its ``failures`` say which, and why.
    """

    def __init__(self, status: Status):
        self.status = status
        super().__init__(f"{len(status.failures)} of {status.points} points failed")


def sweep(
    grid: Grid | Path | str,
    out: Path | str,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    report: Report = lambda status: None,
) -> "pd.DataFrame":
    """Simulate the points of a grid whose results ``out`` does not hold yet; write the table.

    Parameters
    ----------
    grid : Grid or path
        Path of its TOML file.
    out : path
        Folder for ``table.csv``, ``table.parquet``, ``sweep.json`` and ``points.jsonl``.
    scheduler : str, optional
        Address of a Dask scheduler. Without it, processes of this machine simulate.
    workers : int, optional
        Number of these processes; one for each core unless given.
    report : callable
        Told of progress.

    Returns
    -------
    DataFrame
        A row for each point and configuration, in the grid's order.

    Raises
    ------
    InputError
        Of the grid, the folder or the scheduler; nothing was simulated.
    SweepError
        Some points failed.
    SimulationError
        The scheduler was lost.
    """
    begin = time.monotonic()
    grid = grid if isinstance(grid, Grid) else load_grid(grid)
    _check_workers(workers, scheduler)
    out = Path(out)
    kept = read_kept(out / POINTS)
    jobs = missing_jobs(grid, kept.results)
    watch = Watch(_start(grid, kept), jobs, report)
    if jobs:
        from .cluster import cluster_client
        from .pool import simulate_all

        with cluster_client(scheduler, workers, len(jobs)) as client, Store(out / POINTS) as store:

            def done(job: Job, rows: Rows | None, failure: str | None) -> None:
                if rows is not None:
                    store.append(job.point.identity, job.titles[0], rows)
                    kept.take(job.point.identity, rows)
                watch.finished(job, failure)

            simulate_all(client, jobs, done, watch.tick)
    result = table(grid, kept.results)
    _write(grid, result, watch.status, out, time.monotonic() - begin)
    if watch.status.failures:
        raise SweepError(watch.status)
    return result


def _check_workers(workers: int | None, scheduler: str | None) -> None:
    if workers is None:
        return
    if scheduler is not None:
        raise InputError(
            "workers", f"{workers} is not allowed beside a scheduler, which has its own"
        )
    if not 1 <= workers <= _MOST_WORKERS:
        raise InputError(
            "workers", f"{workers} is not allowed; allowed: an integer from 1 to {_MOST_WORKERS}"
        )


def _start(grid: Grid, kept: Kept) -> Status:
    found = sum(complete(point, kept.results) for point in grid.points)
    return Status(
        points=len(grid.points),
        done=found,
        found=found,
        duplicates=grid.duplicates,
        other_code=kept.other_code,
        unreadable=kept.unreadable,
    )


def _write(grid: Grid, result: "pd.DataFrame", status: Status, out: Path, wall_s: float) -> None:
    record = {
        "title": grid.title,
        "version": version("t3"),
        "code": CODE,
        "engines": sorted({one.options.engine for one in grid.points}),
        "points": status.points,
        "duplicates": status.duplicates,
        "found": status.found,
        "rows": len(result),
        "failures": list(status.failures),
        "wall_s": wall_s,
        "grid": grid.blocks,
    }
    with OutputFolder(out, (CSV, PARQUET, RECORD)) as folder:
        try:
            result.to_csv(folder.staging / CSV, index=False, lineterminator="\n")
            result.to_parquet(folder.staging / PARQUET, index=False)
            write_json(folder.staging / RECORD, record)
            folder.publish()
        except OSError as error:
            problem = f"{str(folder.path)!r} cannot be written: {error.strerror}"
            raise InputError("out", problem) from error
