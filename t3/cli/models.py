"""``t3 models``."""

import sys
from typing import Annotated

import typer

__all__ = ["models"]


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this model's TOML file.")
    ] = None,
) -> None:
    """List the known models and sublayers with their sources, or print one's file."""
    # They check what they read with pydantic, for which other commands shall not wait.
    from sysmodel.config.listing import print_models
    from sysmodel.config.model import model_path

    if name is None:
        print_models()
    else:
        sys.stdout.write(model_path(name).read_text(encoding="utf-8"))
