"""Command ``t3 models``."""

import sys
from typing import Annotated

import typer

from sysmodel.config.bundled import MODELS

from .completion import models as complete

__all__ = ["models"]


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Name of a model; prints its TOML file.", autocompletion=complete
        ),
    ] = None,
) -> None:
    """List the known models and sublayers with their sources, or print the file of one model."""
    if name is None:
        from t3.report.listing import print_models

        print_models()
    else:
        sys.stdout.write(MODELS.path(name, "name").read_text(encoding="utf-8"))
