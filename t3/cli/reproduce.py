"""``t3 reproduce``: the paper's evaluation, from simulation to report."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.errors import InputError
from sysmodel.runs.result import ENGINES, EngineName

from .options import Out, Scheduler, Workers, choice, option

__all__ = ["reproduce"]


def reproduce(
    engine: Annotated[
        EngineName,
        choice("rtl: simulate a part with the RTL too, which must give the same numbers.", ENGINES),
    ] = "rtl",
    out: Out = Path("results"),
    page: Annotated[
        Path | None,
        option("Write the page here too, its figures into a folder of the same name.", "FILE.md"),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Regenerate the paper's evaluation and set it beside the paper's numbers.

    The golden engine simulates. Writes one table, figures, a page and a self-contained report.
    What an earlier, interrupted run left in the folder is not simulated again.
    """
    if page is not None and page.suffix != ".md":
        raise InputError("page", f"{str(page)!r} is not allowed; allowed: a name that ends in .md")
    # They bring Numba, pandas and Matplotlib, for which other commands shall not wait.
    from t3.experiments.evaluation.measure import measure
    from t3.experiments.evaluation.outputs import Outputs

    with Outputs(out, page) as outputs:
        files = outputs.write(measure(out, engine, workers, scheduler))
    for file in files:
        typer.echo(file)
