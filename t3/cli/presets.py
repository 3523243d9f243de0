"""``t3 presets``."""

import sys
from typing import Annotated

import typer

from sysmodel.config.system import preset_names, preset_path
from sysmodel.lib.errors import InputError
from t3.report.listing import print_presets

__all__ = ["presets"]


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of a preset; prints its TOML file.")
    ] = None,
) -> None:
    """List the known systems, or print one of them with the source of every value."""
    if name is None:
        print_presets()
    elif name in preset_names():
        sys.stdout.write(preset_path(name).read_text(encoding="utf-8"))
    else:
        raise InputError("NAME", f"{name!r} is not known; allowed: {', '.join(preset_names())}")
