"""``t3 validate``."""

from pathlib import Path

import typer

from t3.library.validation import validate as compare

from .options import Out

__all__ = ["validate"]


def validate(out: Out = Path("build/validation")) -> None:
    """Compare the model with other simulators and with GPUs, and sampled with full simulations.

    Prints every reference figure with the model's figure; writes a page with plots, and a summary.
    The exit code is 1 if a difference exceeds its bound.
    """
    result = compare(out)
    from t3.report.terminal import print_section

    for section in result.sections:
        print_section(section)
    for file in result.files:
        typer.echo(file)
    if not result.passed:
        raise typer.Exit(1)
