"""Command ``t3 machines``."""

from pathlib import Path
from typing import Annotated

import typer

from rtl.export.revision import made_by
from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder
from t3.experiments.machines.measure import measure
from t3.experiments.machines.sections import INTRODUCTION, TITLE, sections, summary
from t3.report.markdown import page as page_of
from t3.report.terminal import print_section

from .options import Out, Scheduler, Workers, option

__all__ = ["PAGE", "machines"]

PAGE = "machines.md"
"""Name of the full page in the folder of the results."""


def machines(
    out: Out = Path("results/machines"),
    page: Annotated[Path, option("File of the summary.", "FILE.md")] = Path(
        "build/machines/machines.md"
    ),
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Simulate today's models on today's GPUs: the gain of T3 there, and its bounds.

    Prints the tables; writes them as a page into the results, and a summary. Simulations that an
    earlier, interrupted run left in the folder are not repeated.
    """
    if page.suffix != ".md":
        raise InputError("page", f"{str(page)!r} is not allowed; allowed: a name that ends in .md")
    source = made_by("t3 machines")
    beside = OutputFolder(page.parent, (page.name,), field="page")
    with beside as folder, OutputFolder(out, (PAGE,)) as results:
        found = sections(measure(out, workers, scheduler))
        introduction = f"{source}\n\n{INTRODUCTION}"
        files = results.write({PAGE: page_of(TITLE, introduction, found)})
        files += folder.write({page.name: page_of(TITLE, introduction, summary(found))})
    for section in found:
        print_section(section)
    for file in files:
        typer.echo(file)
