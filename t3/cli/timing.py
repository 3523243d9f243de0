"""``t3 timing``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.output import OutputFolder, write_json
from sysmodel.lib.progress import shown_progress

from .options import Out, option
from .output import writing
from .silicon_options import (
    Banks,
    Channels,
    Contexts,
    Liberty,
    Sets,
    Ways,
    chosen_library,
    chosen_parameters,
)

__all__ = ["timing"]

_CSV, _JSON, _PAGE = "timing.csv", "timing.json", "timing.md"


def timing(
    out: Out = Path("build/timing"),
    liberty: Liberty = None,
    channels: Channels = None,
    banks: Banks = None,
    sets: Sets = None,
    ways: Ways = None,
    contexts: Contexts = None,
    block: Annotated[
        str | None,
        option("Print the paths of this block only, cell by cell; no files.", "NAME"),
    ] = None,
    paths: Annotated[int, option("How many paths of the block, by start and end.", "N", min=1)] = 5,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a path is over its limit.")
    ] = False,
) -> None:
    """Find the critical path of each block, in FO4 and ns of a cell library.

    Synthesises the blocks with Yosys; writes timing.csv, timing.json and timing.md.
    """
    # They bring Amaranth, for which other commands shall not wait.
    from t3.silicon.timing import block_paths, measure_timing
    from t3.silicon.timing_report import as_csv, as_dict, as_markdown, path_text

    p = chosen_parameters(channels=channels, banks=banks, sets=sets, ways=ways, contexts=contexts)
    files, library = chosen_library(liberty)
    if block is not None:
        for path in block_paths(block, p, files, paths):
            typer.echo(path_text(path, library))
        return
    with OutputFolder(out, (_CSV, _JSON, _PAGE)) as folder:
        with shown_progress() as progress:
            timings = measure_timing(p, files, progress)
        page = as_markdown(timings, library)
        with writing(out):
            (folder.staging / _PAGE).write_text(page, encoding="utf-8")
            (folder.staging / _CSV).write_text(as_csv(timings, library), encoding="utf-8")
            write_json(folder.staging / _JSON, as_dict(timings, library))
            folder.publish()
    typer.echo(page)
    over = [timing.block.name for timing in timings if timing.exceeds(library)]
    if check and over:
        typer.echo(f"over the limit: {', '.join(over)}", err=True)
        raise typer.Exit(1)
