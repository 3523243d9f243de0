"""``t3 models``."""

import sys
from typing import Annotated

import typer

from sysmodel.config.model import model_path
from t3.report.listing import print_models

__all__ = ["models"]


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of a model; prints its TOML file.")
    ] = None,
) -> None:
    """List the known models and sublayers with their sources, or print the file of one model."""
    if name is None:
        print_models()
    else:
        sys.stdout.write(model_path(name).read_text(encoding="utf-8"))
