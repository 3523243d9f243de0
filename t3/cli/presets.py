"""``t3 presets``."""

import sys
from typing import Annotated

import typer

from sysmodel.lib.errors import InputError

__all__ = ["presets"]


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this preset's TOML file.")
    ] = None,
) -> None:
    """List the known systems, or print one with the source of every value."""
    # They check what they read with pydantic, for which other commands shall not wait.
    from sysmodel.config.listing import print_presets
    from sysmodel.config.system import preset_names, preset_path

    if name is None:
        print_presets()
    elif name in preset_names():
        sys.stdout.write(preset_path(name).read_text(encoding="utf-8"))
    else:
        raise InputError("NAME", f"{name!r} is not known; allowed: {', '.join(preset_names())}")
