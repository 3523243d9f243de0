"""Command ``t3 route``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.output import OutputFolder, json_text
from t3.report.progress import shown_progress
from t3.silicon.route.blocks import ROUTED, BlockRoute, route_block
from t3.silicon.route.report import as_dict, as_markdown

from .options import Out, named, several

__all__ = ["route"]

_JSON, _PAGE = "route.json", "route.md"


def route(
    out: Out = Path("build/route"),
    block: Annotated[list[str] | None, several("block")] = None,
) -> None:
    """Place and route blocks in osu018 with the tools of Debian's qflow.

    Downloads the tools with apt-get if they are not installed; ends with exit code 1 if apt-get
    cannot provide them. Writes route.json and route.md.
    """
    names = named("block", block, ROUTED)
    with OutputFolder(out, (_JSON, _PAGE)) as folder:
        routed: list[BlockRoute] = []
        with shown_progress() as progress:
            for name in names:
                progress(f"place and route {name}", len(routed) / len(names))
                routed.append(route_block(name))
        page = as_markdown(routed)
        folder.write({_PAGE: page, _JSON: json_text(as_dict(routed))})
    typer.echo(page)
