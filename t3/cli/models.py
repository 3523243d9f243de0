"""``t3 models``."""

import sys
from typing import Annotated

import typer

from sysmodel.config.model import model_path
from sysmodel.runs import report

__all__ = ["models"]


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this model's TOML file.")
    ] = None,
) -> None:
    """List the known models and sublayers with their sources, or print one's file."""
    if name is None:
        report.print_models()
    else:
        sys.stdout.write(model_path(name).read_text(encoding="utf-8"))
