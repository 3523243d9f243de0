"""``t3 route``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.output import OutputFolder, write_json
from sysmodel.lib.progress import shown_progress

from .options import Out, option
from .output import writing

__all__ = ["route"]

_JSON, _PAGE = "route.json", "route.md"


def route(
    out: Out = Path("build/route"),
    block: Annotated[
        list[str] | None,
        option("A block; may be repeated.", "NAME", show_default="all"),
    ] = None,
) -> None:
    """Place and route blocks in osu018 with the tools of Debian's qflow.

    Where they are not installed they are fetched with apt-get; where they cannot be had, the
    command says so and ends with 1. Writes route.json and route.md.
    """
    # They bring Amaranth, for which other commands shall not wait.
    from t3.silicon.route.blocks import ROUTED, BlockRoute, check_names, route_block
    from t3.silicon.route.report import as_dict, as_markdown

    names = list(dict.fromkeys(block or ROUTED))
    check_names(names)
    with OutputFolder(out, (_JSON, _PAGE)) as folder:
        routed: list[BlockRoute] = []
        with shown_progress() as progress:
            for name in names:
                progress(f"place and route {name}", len(routed) / len(names))
                routed.append(route_block(name))
        page = as_markdown(routed)
        with writing(out):
            (folder.staging / _PAGE).write_text(page, encoding="utf-8")
            write_json(folder.staging / _JSON, as_dict(routed))
            folder.publish()
    typer.echo(page)
