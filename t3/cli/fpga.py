"""Command ``t3 fpga``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.output import OutputFolder, json_text
from t3.report.progress import shown_progress
from t3.silicon.fpga.designs import DESIGNS, fit
from t3.silicon.fpga.flow import check_installed
from t3.silicon.fpga.report import Fitted, as_dict, as_markdown

from .options import Out, named, option

__all__ = ["fpga"]

_JSON, _PAGE = "fpga.json", "fpga.md"


def fpga(
    out: Out = Path("build/fpga"),
    design: Annotated[
        list[str] | None,
        option(
            "Design: without_data or with_data; may be repeated. The second has 256 data bits and "
            "takes twice as long.",
            "NAME",
            show_default="without_data",
        ),
    ] = None,
) -> None:
    """Place and route one channel with a small tracker in a Lattice ECP5.

    Uses Yosys and nextpnr, which the extra `fpga` installs; writes fpga.json and fpga.md.
    """
    names = named("design", design or ["without_data"], DESIGNS)
    with OutputFolder(out, (_JSON, _PAGE)) as folder:
        check_installed()
        fitted: list[Fitted] = []
        with shown_progress() as progress:
            for name in names:
                progress(f"place and route {name}", len(fitted) / len(names))
                fitted.append(fit(name))
        page = as_markdown(fitted)
        folder.write({_PAGE: page, _JSON: json_text(as_dict(fitted))})
    typer.echo(page)
