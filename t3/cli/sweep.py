"""``t3 sweep``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.runs.engines import ENGINES, EngineName
from t3.experiments.sweep.display import Display
from t3.experiments.sweep.grid import load_grid
from t3.experiments.sweep.run import CSV, PARQUET, RECORD
from t3.experiments.sweep.run import sweep as run_sweep
from t3.report.sweep import PAGE, write_sweep_page

from .options import ENGINE_HELP, Out, Scheduler, Workers, choice
from .output import writing

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
    loaded = load_grid(grid, engine=engine)
    with Display(out) as display:
        table = run_sweep(loaded, out, scheduler=scheduler, workers=workers, report=display)
    with writing(out):
        write_sweep_page(out, loaded.title, table)
    files = ", ".join((CSV, PARQUET, RECORD, PAGE))
    typer.echo(f"{len(loaded.points)} points, {len(table)} rows in {out}: {files}")
