"""``t3 reproduce``: the paper's evaluation, from simulation to report."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.errors import InputError
from sysmodel.runs.result import RunOptions

__all__ = ["reproduce"]


def reproduce(
    engine: Annotated[
        str,
        typer.Option(
            help="The T3 hardware: rtl (compiled Verilog) or golden (fast model).",
            metavar="rtl|golden",
        ),
    ] = "rtl",
    out: Annotated[Path, typer.Option(help="Folder for the results.", metavar="DIR")] = Path(
        "results"
    ),
    page: Annotated[
        Path | None,
        typer.Option(
            help="Write the page here too, its figures into a folder of the same name.",
            metavar="FILE.md",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Simulations at a time on this machine.",
            metavar="N",
            show_default="one for each core",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Simulate on the Dask cluster of this scheduler.", metavar="ADDRESS"),
    ] = None,
) -> None:
    """Regenerate the paper's evaluation and set it beside the paper's numbers.

    Writes one table, figures, a page and a self-contained report. What an earlier, interrupted
    run left in the folder is not simulated again.
    """
    RunOptions(engine=engine)
    if page is not None and page.suffix != ".md":
        raise InputError("page", f"{str(page)!r} is not allowed; allowed: a name that ends in .md")
    # They bring Numba, pandas and Matplotlib, for which other commands shall not wait.
    from t3.experiments.evaluation.measure import measure
    from t3.experiments.evaluation.outputs import Outputs

    with Outputs(out, page) as outputs:
        files = outputs.write(measure(out, engine, workers, scheduler))
    for file in files:
        typer.echo(file)
