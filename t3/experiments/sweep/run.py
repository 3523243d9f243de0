"""Sweeps: simulate every point of a grid once, store each result when it is ready, write
one table.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sysmodel.config.arguments import checked, checked_path
from sysmodel.config.schema import integer
from sysmodel.lib.checkpoints import Checkpoint
from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.lib.output import OutputFolder, write_json

from .grid import Grid, load_grid
from .pool import simulate_here
from .rows import Rows, complete, table
from .simulations import Simulation, missing_simulations
from .sources import CODE
from .status import Report, Status, StatusReporter

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CSV", "PAGE", "PARQUET", "POINTS", "RECORD", "SweepError", "sweep"]

CSV, PARQUET, POINTS, RECORD = "table.csv", "table.parquet", "points.jsonl", "sweep.json"
PAGE = "report.html"
_MOST_WORKERS = 1024


class SweepError(SimulationError):
    """Some points failed; the table of the others is written.

    Parameters
    ----------
    status : Status
        Status at the end; its ``failures`` name the points and the reasons.
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
    page: "Callable[[str, pd.DataFrame], str] | None" = None,
) -> "pd.DataFrame":
    """Simulate the points of a grid whose results ``out`` does not hold yet; write the table.

    Parameters
    ----------
    grid : Grid or path
        The grid, or the path of its TOML file.
    out : path
        Folder for ``table.csv``, ``table.parquet``, ``sweep.json`` and ``points.jsonl``.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers simulate; without it, processes of this machine
        simulate.
    workers : int, optional
        Number of these processes; one for each core by default.
    report : callable
        Called with the status at every change.
    page : callable, optional
        Makes the content of ``report.html`` from the grid's title and the table, if no point
        failed.

    Returns
    -------
    DataFrame
        A row for each point and configuration, in the grid's order.

    Raises
    ------
    InputError
        The grid, the folder or the scheduler cannot be used; nothing was simulated.
    SweepError
        Some points failed.
    SimulationError
        The connection to the scheduler was lost.
    """
    begin = time.monotonic()
    grid = grid if isinstance(grid, Grid) else load_grid(grid)
    workers = _checked_workers(workers, scheduler)
    out = checked_path("out", out)
    names = (CSV, PARQUET, RECORD, *((PAGE,) if page else ()))
    with OutputFolder(out, names) as folder:
        result, status = _simulated(grid, out, scheduler, workers, report)
        if page and not status.failures:
            with folder.writing():
                (folder.staging / PAGE).write_text(page(grid.title, result), encoding="utf-8")
        _write(grid, result, status, folder, time.monotonic() - begin)
    if status.failures:
        raise SweepError(status)
    return result


def _simulated(
    grid: Grid, out: Path, scheduler: str | None, workers: int | None, report: Report
) -> "tuple[pd.DataFrame, Status]":
    """Simulate the missing points; return the table, and the status at the end."""
    checkpoint = Checkpoint(out / POINTS, CODE)
    simulations = missing_simulations(grid, checkpoint.results)
    with ExitStack() as stack:
        simulate = partial(simulate_here, workers=workers)
        if simulations:
            if scheduler is not None:
                from .cluster import cluster_client, simulate_on  # imports Dask

                simulate = partial(simulate_on, stack.enter_context(cluster_client(scheduler)))
            stack.enter_context(checkpoint)
        # The sweep begins, and reports, only with a scheduler and a file that can be used.
        reporter = StatusReporter(_start(grid, checkpoint), simulations, report)

        def done(simulation: Simulation, rows: Rows | None, failure: str | None) -> None:
            if rows is not None:
                checkpoint.append(simulation.point.identity, rows, title=simulation.titles[0])
            reporter.finished(simulation, failure)

        if simulations:
            simulate(simulations, done, reporter.tick)
    return table(grid, checkpoint.results), reporter.status


def _checked_workers(workers: int | None, scheduler: str | None) -> int | None:
    if workers is None:
        return None
    count: int = checked("workers", workers, Annotated[int, integer(1, _MOST_WORKERS)])
    if scheduler is not None:
        raise InputError(
            "workers",
            f"{count} is not allowed together with a scheduler, which has its own workers",
        )
    return count


def _start(grid: Grid, checkpoint: Checkpoint) -> Status:
    found = sum(complete(point, checkpoint.results) for point in grid.points)
    return Status(
        points=len(grid.points),
        done=found,
        found=found,
        duplicates=grid.duplicates,
        other_code=checkpoint.other_code,
        unreadable=checkpoint.unreadable,
    )


def _write(
    grid: Grid, result: "pd.DataFrame", status: Status, folder: OutputFolder, wall_s: float
) -> None:
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
    with folder.writing():
        result.to_csv(folder.staging / CSV, index=False, lineterminator="\n")
        result.to_parquet(folder.staging / PARQUET, index=False)
        write_json(folder.staging / RECORD, record)
        folder.publish()
