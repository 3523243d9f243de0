"""``t3 sweep``."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["sweep"]


def sweep(
    grid: Annotated[Path, typer.Argument(metavar="GRID.toml", help="What to simulate.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.", metavar="DIR")] = Path(
        "build/sweep"
    ),
    scheduler: Annotated[
        str | None,
        typer.Option(help="Simulate on a running Dask cluster.", metavar="ADDRESS"),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes of this machine.", metavar="N", show_default="one for each core"
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="The T3 hardware: rtl (compiled Verilog) or golden (fast model).",
            metavar="rtl|golden",
            show_default="the grid's",
        ),
    ] = None,
) -> None:
    """Simulate every point of a grid of workloads, systems and policies.

    Writes table.csv, table.parquet and sweep.json. Results are kept in points.jsonl as they come;
    the same command goes on where an interrupted one stopped.
    """
    from t3.experiments.sweep.display import Display
    from t3.experiments.sweep.grid import load_grid
    from t3.experiments.sweep.run import CSV, PARQUET, RECORD
    from t3.experiments.sweep.run import sweep as run_sweep

    loaded = load_grid(grid, engine=engine)
    with Display(out) as display:
        table = run_sweep(loaded, out, scheduler=scheduler, workers=workers, report=display)
    typer.echo(
        f"{len(loaded.points)} points, {len(table)} rows in {out}: {CSV}, {PARQUET}, {RECORD}"
    )
