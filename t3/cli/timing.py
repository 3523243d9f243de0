"""Command ``t3 timing``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.output import OutputFolder, json_text
from t3.report.progress import shown_progress
from t3.silicon.timing import block_paths, measure_timing
from t3.silicon.timing_report import as_csv, as_dict, as_markdown, path_text

from .options import Out, integer_option, option
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
        option("Print only the paths of this block, cell by cell; write no files.", "NAME"),
    ] = None,
    paths: Annotated[
        int,
        integer_option("Number of paths to print, one for each pair of start and end.", least=1),
    ] = 5,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with code 1 if a path exceeds its limit.")
    ] = False,
) -> None:
    """Find the critical path of each block, in FO4 and ns of a cell library.

    Synthesizes the blocks with Yosys; writes timing.csv, timing.json and timing.md.
    """
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
        data = json_text(as_dict(timings, library))
        folder.write({_PAGE: page, _CSV: as_csv(timings, library), _JSON: data})
    typer.echo(page)
    exceeding = [timing.block.name for timing in timings if timing.exceeds(library)]
    if check and exceeding:
        typer.echo(f"over the limit: {', '.join(exceeding)}", err=True)
        raise typer.Exit(1)
