"""Command ``t3 validate``."""

from pathlib import Path
from typing import Annotated

import typer

from t3.library.validation import validate as compare

from .completion import presets
from .options import Out, option

__all__ = ["validate"]


def validate(
    out: Out = Path("build/validation"),
    measured: Annotated[
        list[Path] | None,
        option(
            "Measurements to compare a system with, instead of the references: output of "
            "nccl-tests or rccl-tests, or a table; may be repeated.",
            "FILE",
        ),
    ] = None,
    system: Annotated[
        str | None,
        option(
            "System that was measured: a preset, or a TOML file.",
            "NAME|FILE.toml",
            autocompletion=presets,
        ),
    ] = None,
) -> None:
    """Compare the model with other simulators and with GPUs, and sampled with full simulations.

    Prints every reference figure with the model's figure; writes pages with plots, and summaries.
    With --measured, compares a system with measurements of your own (docs/measurements.md). The
    exit code is 1 if a difference exceeds its bound.
    """
    result = compare(out, measured=measured or None, system=system)
    from t3.report.terminal import print_section

    for section in result.sections:
        print_section(section)
    for file in result.files:
        typer.echo(file)
    if not result.passed:
        raise typer.Exit(1)
