"""``t3 area``, ``t3 timing`` and ``t3 diagrams``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder, write_json
from sysmodel.lib.progress import Report, shown_progress

__all__ = ["area", "diagrams", "timing"]

Liberty = Annotated[
    list[Path] | None,
    typer.Option(
        help="Cell library, .lib or .lib.gz; may be repeated.",
        metavar="FILE",
        show_default="osu018, fetched with apt-get",
    ),
]


def _geometry(help_text: str) -> Any:
    return typer.Option(help=help_text, metavar="N", show_default="the reference's")


Channels = Annotated[int | None, _geometry("Memory channels of the GPU.")]
Banks = Annotated[int | None, _geometry("Banks of the tracker.")]
Sets = Annotated[int | None, _geometry("Sets of the tracker, over all banks.")]
Ways = Annotated[int | None, _geometry("Ways of the tracker.")]


def timing(
    out: Annotated[Path, typer.Option(help="Folder for the files.", metavar="DIR")] = Path(
        "build/timing"
    ),
    liberty: Liberty = None,
    channels: Channels = None,
    banks: Banks = None,
    sets: Sets = None,
    ways: Ways = None,
    block: Annotated[
        str | None,
        typer.Option(
            help="Print the paths of this block only, cell by cell; no files.", metavar="NAME"
        ),
    ] = None,
    paths: Annotated[
        int, typer.Option(help="How many paths of the block, by start and end.", metavar="N", min=1)
    ] = 5,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a path is over its limit.")
    ] = False,
) -> None:
    """Critical path of each block, in FO4 and ns of a cell library.

    Synthesises the blocks with Yosys; writes timing.csv, timing.json and timing.md.
    """
    from t3.silicon.timing import block_paths, measure_timing
    from t3.silicon.timing_report import as_csv, as_dict, as_markdown, path_text

    files, library, p = _library_and_parameters(liberty, channels, banks, sets, ways)
    if block is not None:
        for path in block_paths(block, p, files, paths):
            typer.echo(path_text(path, library))
        return
    with OutputFolder(out, ("timing.csv", "timing.json", "timing.md")) as folder:
        with shown_progress() as progress:
            timings = measure_timing(p, files, progress)
        page = as_markdown(timings, library)
        (folder.staging / "timing.md").write_text(page, encoding="utf-8")
        (folder.staging / "timing.csv").write_text(as_csv(timings, library), encoding="utf-8")
        write_json(folder.staging / "timing.json", as_dict(timings, library))
        folder.publish()
    typer.echo(page)
    over = [timing.block.name for timing in timings if timing.exceeds(library)]
    if check and over:
        typer.echo(f"over the limit: {', '.join(over)}", err=True)
        raise typer.Exit(1)


def area(
    out: Annotated[Path, typer.Option(help="Folder for the files.", metavar="DIR")] = Path(
        "build/area"
    ),
    liberty: Liberty = None,
    channels: Channels = None,
    banks: Banks = None,
    sets: Sets = None,
    ways: Ways = None,
    scaling: Annotated[
        bool, typer.Option("--scaling", help="Also write scaling.csv and scaling.png.")
    ] = False,
) -> None:
    """Area of each block and of the whole, in gate equivalents and in µm² of a cell library.

    Synthesises the blocks with Yosys; writes area.csv, area.json and area.md.
    """
    from t3.silicon.area_report import as_csv, as_dict, as_markdown
    from t3.silicon.inventory import measure_inventory

    files, library, p = _library_and_parameters(liberty, channels, banks, sets, ways)
    names = ("area.csv", "area.json", "area.md")
    names += ("scaling.csv", "scaling.png") if scaling else ()
    with OutputFolder(out, names) as folder:
        with shown_progress() as progress:
            inventory = measure_inventory(p, files, progress)
            if scaling:
                _write_scaling(p, files, progress, folder.staging)
        page = as_markdown(inventory, library)
        (folder.staging / "area.md").write_text(page, encoding="utf-8")
        (folder.staging / "area.csv").write_text(as_csv(inventory), encoding="utf-8")
        write_json(folder.staging / "area.json", as_dict(inventory, library))
        folder.publish()
    typer.echo(page)


def diagrams(
    out: Annotated[Path, typer.Option(help="Folder for the files.", metavar="DIR")] = Path(
        "build/diagrams"
    ),
) -> None:
    """Timing diagrams of the blocks' interfaces, recorded from simulations of the RTL; SVG."""
    from t3.silicon.diagrams import diagrams as known
    from t3.silicon.waveforms import record, svg

    every = list(known())
    with OutputFolder(out, [f"{diagram.name}.svg" for diagram in every]) as folder:
        for diagram in every:
            path = folder.staging / f"{diagram.name}.svg"
            path.write_text(svg(record(diagram)), encoding="utf-8")
        folder.publish()
    typer.echo("\n".join(str(out / f"{diagram.name}.svg") for diagram in every))


def _write_scaling(p, files: list[Path], report: Report, folder: Path) -> None:
    from t3.silicon.scaling import as_csv, measure_scaling
    from t3.silicon.scaling_plot import draw_scaling

    points = measure_scaling(p, files, report)
    (folder / "scaling.csv").write_text(as_csv(points), encoding="utf-8")
    draw_scaling(points, folder / "scaling.png")


def _library_and_parameters(
    liberty: list[Path] | None,
    channels: int | None,
    banks: int | None,
    sets: int | None,
    ways: int | None,
):
    from dataclasses import replace

    from t3.silicon.blocks import REFERENCE
    from t3.silicon.library import load_library
    from t3.silicon.osu018 import osu018

    given = {"channels": channels, "banks": banks, "sets": sets, "ways": ways}
    given = {field: value for field, value in given.items() if value is not None}
    try:
        p = replace(REFERENCE, **given)
    except ValueError as error:
        field, _, problem = str(error).partition(" ")
        raise InputError(field, problem) from None
    files = list(liberty or [osu018()])
    return files, load_library(files), p
