"""Command ``t3 presets``."""

import sys
from typing import Annotated

import typer

from sysmodel.config.bundled import PRESETS

from .completion import presets as complete

__all__ = ["presets"]


def presets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Name of a preset; prints its TOML file.",
            autocompletion=complete,
        ),
    ] = None,
) -> None:
    """List the known systems with their measured errors, or print one with its values' sources."""
    if name is None:
        from t3.experiments.validation.preset_errors import error_lines
        from t3.report.listing import print_presets

        print_presets(error_lines)
    else:
        sys.stdout.write(PRESETS.path(name, "name").read_text(encoding="utf-8"))
