"""``t3 reproduce``: the paper's evaluation, from simulation to report."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.errors import InputError
from sysmodel.runs.engines import ENGINES, EngineName
from t3.experiments.evaluation.measure import measure
from t3.experiments.evaluation.outputs import Outputs

from .options import Out, Scheduler, Workers, choice, option

__all__ = ["reproduce"]


def reproduce(
    engine: Annotated[
        EngineName,
        choice("rtl: also simulate a part with the RTL, and require equal numbers.", ENGINES),
    ] = "rtl",
    out: Out = Path("results"),
    page: Annotated[
        Path | None,
        option("Path of a summary; its figure goes into a folder of the same name.", "FILE.md"),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Regenerate the paper's evaluation and compare it with the paper's numbers.

    Simulates with the golden engine. Writes one table, plots, a page and a self-contained report.
    Simulations that an earlier, interrupted run left in the folder are not repeated.
    """
    if page is not None and page.suffix != ".md":
        raise InputError("page", f"{str(page)!r} is not allowed; allowed: a name that ends in .md")
    with Outputs(out, page) as outputs:
        files = outputs.write(measure(out, engine, workers, scheduler))
    for file in files:
        typer.echo(file)
