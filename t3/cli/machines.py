"""``t3 machines``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder

from .options import Out, Scheduler, Workers, option
from .output import writing

__all__ = ["machines"]


def machines(
    out: Out = Path("results/machines"),
    page: Annotated[Path, option("Where the page goes.", "FILE.md")] = Path(
        "build/machines/machines.md"
    ),
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Simulate today's models on today's GPUs, and say what T3 gives there and what bounds it.

    Prints the tables and writes them as a page. What an earlier, interrupted run left in the folder
    is not simulated again.
    """
    if page.suffix != ".md":
        raise InputError("page", f"{str(page)!r} is not allowed; allowed: a name that ends in .md")
    # They bring Numba and pandas, for which other commands shall not wait.
    from t3.experiments.machines.measure import measure
    from t3.experiments.machines.sections import INTRODUCTION, TITLE, sections
    from t3.experiments.page import page as page_of
    from t3.experiments.page import print_section

    with OutputFolder(page.parent, (page.name,)) as folder:
        found = sections(measure(out, workers, scheduler))
        with writing(page.parent):
            text = page_of(TITLE, INTRODUCTION, found)
            (folder.staging / page.name).write_text(text, encoding="utf-8")
            files = folder.publish()
    for section in found:
        print_section(section)
    for file in files:
        typer.echo(file)
