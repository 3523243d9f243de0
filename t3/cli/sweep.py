"""Command ``t3 sweep``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.runs.engines import ENGINES, EngineName
from t3.library.sweeping import FILES
from t3.library.sweeping import sweep as simulate
from t3.report.units import counted

from .options import ENGINE_HELP, Out, Scheduler, Workers, choice

__all__ = ["sweep"]


def sweep(
    grid: Annotated[Path, typer.Argument(metavar="GRID.toml", help="Grid of points to simulate.")],
    out: Out = Path("build/sweep"),
    scheduler: Scheduler = None,
    workers: Workers = None,
    engine: Annotated[
        EngineName | None, choice(ENGINE_HELP, ENGINES, show_default="the grid's")
    ] = None,
) -> None:
    """Simulate every point of a grid of workloads, systems and policies.

    Writes table.csv, table.parquet, sweep.json and an HTML page. Each result is stored in
    points.jsonl when it is ready; after an interrupt the same command continues there.
    """
    table = simulate(grid, out, engine=engine, scheduler=scheduler, workers=workers)
    points, rows = counted(table.attrs["points"], "point"), counted(len(table), "row")
    typer.echo(f"{points}, {rows} in {out}: {', '.join(FILES)}")
