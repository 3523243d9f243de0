"""Command ``t3 area``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.output import OutputFolder, write_json
from t3.report.progress import shown_progress
from t3.silicon import scaling as area_scaling
from t3.silicon.area_report import as_csv, as_dict, as_markdown
from t3.silicon.inventory import measure_inventory
from t3.silicon.scaling_plot import draw_scaling

from .options import Out
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

__all__ = ["area"]

_CSV, _JSON, _PAGE = "area.csv", "area.json", "area.md"
_SCALING_CSV, _SCALING_PICTURE = "scaling.csv", "scaling.png"


def area(
    out: Out = Path("build/area"),
    liberty: Liberty = None,
    channels: Channels = None,
    banks: Banks = None,
    sets: Sets = None,
    ways: Ways = None,
    contexts: Contexts = None,
    scaling: Annotated[
        bool, typer.Option("--scaling", help=f"Also write {_SCALING_CSV} and {_SCALING_PICTURE}.")
    ] = False,
) -> None:
    """Measure the area of each block and of the whole hardware, in gate equivalents and in µm².

    Synthesizes the blocks with Yosys for a cell library; writes area.csv, area.json and area.md.
    """
    p = chosen_parameters(channels=channels, banks=banks, sets=sets, ways=ways, contexts=contexts)
    files, library = chosen_library(liberty)
    names = (_CSV, _JSON, _PAGE) + ((_SCALING_CSV, _SCALING_PICTURE) if scaling else ())
    with OutputFolder(out, names) as folder:
        with shown_progress() as progress:
            inventory = measure_inventory(p, files, progress)
            points = area_scaling.measure_scaling(p, files, progress) if scaling else []
        page = as_markdown(inventory, library)
        with folder.writing():
            (folder.staging / _PAGE).write_text(page, encoding="utf-8")
            (folder.staging / _CSV).write_text(as_csv(inventory), encoding="utf-8")
            write_json(folder.staging / _JSON, as_dict(inventory, library))
            if points:
                csv = area_scaling.as_csv(points)
                (folder.staging / _SCALING_CSV).write_text(csv, encoding="utf-8")
                draw_scaling(points, folder.staging / _SCALING_PICTURE)
            folder.publish()
    typer.echo(page)
