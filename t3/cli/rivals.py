"""Command ``t3 rivals``."""

from pathlib import Path
from typing import Annotated

import typer

from rtl.export.revision import made_by
from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder
from t3.experiments.rivals.measure import measure
from t3.experiments.rivals.sections import INTRODUCTION, TITLE, sections
from t3.report.markdown import page as page_of
from t3.report.terminal import print_section

from .options import Out, Scheduler, Workers, option

__all__ = ["rivals"]


def rivals(
    out: Out = Path("results/rivals"),
    page: Annotated[Path, option("File of the page.", "FILE.md")] = Path("build/rivals/rivals.md"),
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Simulate pairs of GEMMs of today's models by T3, and by what GPUs of today do instead.

    Prints the tables, and writes them as a page. Simulations that an earlier, interrupted run left
    in the folder are not repeated.
    """
    if page.suffix != ".md":
        raise InputError("page", f"{str(page)!r} is not allowed; allowed: a name that ends in .md")
    with OutputFolder(page.parent, (page.name,), field="page") as folder:
        found = sections(measure(out, workers, scheduler))
        introduction = f"{made_by('t3 rivals')}\n\n{INTRODUCTION}"
        files = folder.write({page.name: page_of(TITLE, introduction, found)})
    for section in found:
        print_section(section)
    for file in files:
        typer.echo(file)
