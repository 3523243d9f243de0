"""``t3 validate``."""

from pathlib import Path

import typer

from sysmodel.lib.output import OutputFolder
from sysmodel.lib.progress import shown_progress

from .options import Out
from .output import writing

__all__ = ["PAGE", "validate"]

PAGE = "validation.md"


def validate(out: Out = Path("build/validation")) -> None:
    """Compare the model with simulators that others wrote, GPUs, and samples with the whole.

    Prints every reference figure beside ours; writes a page and its figures. The exit code is 1 if
    a bound is broken.
    """
    # They bring Numba, for which other commands shall not wait.
    from t3.experiments.page import print_section
    from t3.experiments.validation.sections import compare_all, write_page

    with OutputFolder(out, (PAGE,)) as folder:
        with shown_progress() as progress:
            sections = compare_all(progress)
        with writing(out):
            write_page(sections, folder.staging / PAGE)
            files = folder.publish()
    for section in sections:
        print_section(section)
    for file in files:
        typer.echo(file)
    if any(section.broken for section in sections):
        raise typer.Exit(1)
