"""``t3 validate``."""

from pathlib import Path

import typer

from rtl.export.revision import made_by
from sysmodel.lib.output import OutputFolder
from t3.experiments.validation.sections import compare_all, write_page, write_summary
from t3.report.progress import shown_progress
from t3.report.terminal import print_section

from .options import Out
from .output import writing

__all__ = ["PAGE", "SUMMARY", "validate"]

PAGE, SUMMARY = "validation.md", "validation-summary.md"


def validate(out: Out = Path("build/validation")) -> None:
    """Compare the model with other simulators and with GPUs, and sampled with full simulations.

    Prints every reference figure with the model's figure; writes a page with plots, and a summary.
    The exit code is 1 if a difference exceeds its bound.
    """
    source = made_by("t3 validate")
    with OutputFolder(out, (PAGE, SUMMARY)) as folder:
        with shown_progress() as progress:
            sections = compare_all(progress)
        with writing(out):
            write_page(sections, folder.staging / PAGE, source)
            write_summary(sections, folder.staging / SUMMARY, source)
            files = folder.publish()
    for section in sections:
        print_section(section)
    for file in files:
        typer.echo(file)
    if any(section.broken for section in sections):
        raise typer.Exit(1)
